"""A relational query, as written: streams joined in a window, or aggregated as it slides ([T] 2.1)."""

from __future__ import annotations

from dataclasses import dataclass, field

from fyke.errors import Place
from fyke.html import marked_block
from fyke.language.ast import Expression, ReturnItem, Window
from fyke.language.unparse import unparse_relational_parts


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of FROM: the event type it has, and the name it goes by in the query."""

    name: str
    alias: str
    place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class RelationalQuery:
    """A query without PATTERN: no order among its events, and no selection strategy.

    ``items`` is None for ``*``.  ``slide`` is None without SLIDE.  ``conditions`` are the conjuncts of
    WHERE.  A name alone (``price``) stands as a reference to a variable of that name without a path until
    the streams' attributes are known.  ``text`` is what the author wrote, kept for error messages only.
    """

    streams: tuple[Stream, ...]
    items: tuple[ReturnItem, ...] | None
    window: Window
    slide: Window | None = None
    conditions: tuple[Expression, ...] = ()
    label: str | None = None
    text: str | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __str__(self) -> str:
        """Return the canonical text, which parses back to an equal query."""
        streams = [(stream.name, stream.alias) for stream in self.streams]
        return unparse_relational_parts(
            self.label, self.items, streams, self.window, self.slide, self.conditions
        )

    def _repr_html_(self) -> str:
        return marked_block(str(self), ("SELECT", "FROM", "WHERE"))
