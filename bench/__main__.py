"""``python -m bench [name ...]``: run benchmarks and exit with 1 if a bar does not hold."""

from __future__ import annotations

import sys

from bench import automaton, foundation, lazy, memory, nfab, sets, trees

BENCHMARKS = {
    "foundation": foundation.main,
    "automaton": automaton.main,
    "nfab": nfab.main,
    "sets": sets.main,
    "memory": memory.main,
    "lazy": lazy.main,
    "trees": trees.main,
}
LONG = {"billion": lazy.billion}  # only by name

if __name__ == "__main__":
    names = sys.argv[1:] or list(BENCHMARKS)
    verdicts = [(BENCHMARKS | LONG)[name]() for name in names]
    sys.exit(0 if all(verdicts) else 1)
