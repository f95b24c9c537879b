"""A whole query, as written: what :func:`fyke.parse` and the builder of :mod:`fyke.language.builder` make."""

from __future__ import annotations

from dataclasses import dataclass, field

from fyke.html import marked_block
from fyke.language.ast import Expression, Pattern, ReturnItem, Strategy, Window
from fyke.language.unparse import unparse_query_parts


@dataclass(frozen=True, slots=True)
class Query:
    """A whole query.  ``conditions`` are the conjuncts of WHERE; ``returns`` is None without RETURN.

    ``text`` is what the author wrote, kept for error messages only.
    """

    pattern: Pattern
    conditions: tuple[Expression, ...] = ()
    strategy: Strategy = Strategy.NEXT
    window: Window | None = None
    returns: tuple[ReturnItem, ...] | None = None
    label: str | None = None
    text: str | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __str__(self) -> str:
        """Return the canonical text, which parses back to an equal query."""
        return unparse_query_parts(
            self.label, self.pattern, self.strategy, self.conditions, self.window, self.returns
        )

    def _repr_html_(self) -> str:
        return marked_block(str(self), ("PATTERN", "WHERE", "WITHIN", "RETURN"))
