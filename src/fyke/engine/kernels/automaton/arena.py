"""The arena of the automaton: runs, the buffer of their bindings, and the matches noted in it."""

from __future__ import annotations

from fyke.engine.kernels.kinds import FloatRows, IntegerRows, Integers
from fyke.engine.kernels.output.arena import SearchArena


class AutomatonArena(SearchArena):
    """Runs are a row of integers and a row of floats each; ``nodes`` (``layout.NODE_*``) are their bindings.

    ``limits`` say what may be used (``layout.ALLOWED_*``).
    ``loaded`` runs came with the state, ``saved`` ones go into it.  Matches are noted in ``heads``.  The rest
    is scratch: the ``path`` of one match and the ``branches`` put off, the runs ``seen`` by hash, the events
    ``ahead`` for each variable, how many are ``counted`` of each kind; of a robust search the ``futures`` of
    runs, and those that are ``dead``.
    """

    limits: Integers
    runs_i: IntegerRows
    runs_f: FloatRows
    nodes: IntegerRows
    loaded_i: IntegerRows
    loaded_f: FloatRows
    saved_i: IntegerRows
    saved_f: FloatRows
    heads: Integers
    path: Integers
    branches: Integers
    seen: Integers
    ahead: Integers
    counted: IntegerRows
    futures: IntegerRows
    dead: IntegerRows
