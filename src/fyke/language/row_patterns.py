"""The nouns of a MATCH_RECOGNIZE clause as its author wrote it; :class:`RowPatternQuery` is the whole.

Names of pattern variables and SUBSETs are folded: unquoted in capitals, quoted as they are, so ``down`` and
``DOWN`` are one variable and ``"down"`` is another.  CLASSIFIER() gives them in this form.  Columns are kept
as they are written; analysis spells them as the input does.

Expressions are those of :mod:`fyke.language.ast`, with its nodes ``Column``, ``Navigation`` and ``Seen``.
An aggregate is a ``Call`` of its name.  ``count(*)`` holds a ``Star``, ``count(A.*)`` a ``Column`` of no
path.  ``CLASSIFIER()``, ``CLASSIFIER(A)`` and ``MATCH_NUMBER()`` are calls of ``classifier`` (of no argument,
or of a ``Column`` of no path) and ``match_number``, which stands in MEASURES only.  There are no
``Reference``, ``Length`` or ``Equivalence`` nodes.

What the parser has checked, and everything behind it may rely on:

* every defined variable, every member of a SUBSET and the target of SKIP TO is in the pattern (or, for SKIP
  TO, a SUBSET), no name is defined twice, and no name is both a variable and a SUBSET;
* DEFINE has at least one condition, and no ``Seen`` with ``final``;
* ``Column.variable`` is a variable of the pattern or a SUBSET; a navigation or aggregate speaks of one
  variable at most, and holds no aggregate;
* bounds of a quantifier fit (0 <= minimum <= maximum, maximum at least 1), PERMUTE has at most
  :data:`MOST_PERMUTED` parts, and there is no exclusion with WITH UNMATCHED ROWS.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from fyke.errors import Place
from fyke.html import marked_block
from fyke.language.ast import Expression, Window
from fyke.language.unparse import unparse_column, unparse_expression, unparse_variable, unparse_window

MOST_PERMUTED = 16
_CLAUSES = (
    *("MATCH_RECOGNIZE", "PARTITION", "ORDER", "MEASURES", "ONE", "ALL"),
    *("AFTER", "PATTERN", "SUBSET", "DEFINE"),
)


def _place() -> Place | None:
    return field(default=None, compare=False, repr=False, kw_only=True)


# --- patterns ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Variable:
    """One row that gets the label ``name``, if the condition of ``name`` is true of it."""

    name: str
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Empty:
    """``()``: no row."""

    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Anchor:
    """``^`` (``start``): the next row is the first of the partition; ``$``: the last row was its last."""

    start: bool
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Concatenation:
    """Two or more parts, one after the other; none of them is a ``Concatenation``."""

    parts: tuple[RowPattern, ...]
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Alternation:
    """Two or more parts, of which an earlier one is preferred; none of them is an ``Alternation``."""

    parts: tuple[RowPattern, ...]
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Quantified:
    """A part ``minimum`` to ``maximum`` times (None: no bound).

    Greedy prefers one more repetition to stopping, reluctant the reverse.  Beyond the minimum, a repetition
    that takes no row ends the loop: it may be made once, and then nothing but what follows can be tried.
    """

    part: RowPattern
    minimum: int
    maximum: int | None
    greedy: bool = True
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Excluded:
    """``{- part -}``: matched as the part is; ALL ROWS PER MATCH leaves its rows out of the output."""

    part: RowPattern
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Permutation:
    """``PERMUTE(p, q, ...)``: the alternation of all orders of its two or more parts.

    Preferred is what comes first lexicographically by position in the list: (0, 1, 2), (0, 2, 1), ...
    """

    parts: tuple[RowPattern, ...]
    place: Place | None = _place()


RowPattern = Variable | Empty | Anchor | Concatenation | Alternation | Quantified | Excluded | Permutation


# --- the other clauses ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OrderItem:
    """A column of ORDER BY.  Nulls come last, in either direction, unless NULLS FIRST is written."""

    column: str
    descending: bool = False
    nulls_first: bool = False
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Measure:
    """``expression AS name``."""

    expression: Expression
    name: str
    place: Place | None = _place()


class Rows(Enum):
    """The rows that are asked for."""

    ONE = "ONE ROW PER MATCH"
    ALL = "ALL ROWS PER MATCH"  # a row for the start row of an empty match, too: SHOW EMPTY MATCHES
    OMIT_EMPTY = "ALL ROWS PER MATCH OMIT EMPTY MATCHES"
    WITH_UNMATCHED = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"
    MATCHES = "ALL MATCHES"  # a row, as of ONE ROW PER MATCH, for each way to match from each start

    @property
    def per_match(self) -> bool:
        """Whether there is one row for a match: partition columns, then measures."""
        return self in (Rows.ONE, Rows.MATCHES)


class SkipTo(Enum):
    """Where the search goes on after a match; after an empty one always at the next row."""

    PAST_LAST = "PAST LAST ROW"
    NEXT_ROW = "TO NEXT ROW"
    FIRST = "TO FIRST"  # row of the variable
    LAST = "TO LAST"  # row of the variable; TO v means the same


@dataclass(frozen=True, slots=True)
class Skip:
    """AFTER MATCH SKIP; ``variable`` (or SUBSET name) goes with FIRST and LAST, and is None otherwise."""

    to: SkipTo = SkipTo.PAST_LAST
    variable: str | None = None
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Subset:
    """``name = (members)``: the rows of any of its members, which are variables of the pattern."""

    name: str
    members: tuple[str, ...]
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Definition:
    """``variable AS condition``; a variable without one is true of every row."""

    variable: str
    condition: Expression
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class RowPatternQuery:
    """A whole clause.

    ``window`` is WITHIN: a duration, or units of the first ORDER BY column; last row minus first row is at
    most that, in the direction of the order.  It bounds the search, so a row beyond it is as one whose
    conditions are false.  With ``Rows.MATCHES`` there is no ``skip``: it has its default.  ``text`` is what
    the author wrote, kept for error messages only.
    """

    pattern: RowPattern
    define: tuple[Definition, ...]
    partition: tuple[str, ...] = ()
    order: tuple[OrderItem, ...] = ()
    measures: tuple[Measure, ...] = ()
    rows: Rows = Rows.ONE
    skip: Skip = Skip()
    window: Window | None = None
    subsets: tuple[Subset, ...] = ()
    text: str | None = field(default=None, compare=False, repr=False, kw_only=True)
    partition_places: tuple[Place, ...] = field(default=(), compare=False, repr=False, kw_only=True)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the pattern, in the order they are first written."""
        found = (part.name for part in row_pattern_parts(self.pattern) if isinstance(part, Variable))
        return tuple(dict.fromkeys(found))

    def labels(self, name: str) -> frozenset[str]:
        """Return the variables that a name stands for: a SUBSET's members, or the variable itself."""
        for subset in self.subsets:
            if subset.name == name:
                return frozenset(subset.members)
        return frozenset({name})

    def __str__(self) -> str:
        """Return the canonical text, which parses back to an equal clause."""
        lines = []
        if self.partition:
            lines.append("PARTITION BY " + ", ".join(map(unparse_column, self.partition)))
        if self.order:
            lines.append("ORDER BY " + ", ".join(map(_order_item, self.order)))
        if self.measures:
            items = (
                f"{unparse_expression(each.expression)} AS {unparse_column(each.name)}"
                for each in self.measures
            )
            lines.append("MEASURES\n    " + ",\n    ".join(items))
        lines.append(self.rows.value)
        if self.rows is not Rows.MATCHES:
            target = "" if self.skip.variable is None else f" {unparse_variable(self.skip.variable)}"
            lines.append(f"AFTER MATCH SKIP {self.skip.to.value}{target}")
        within = "" if self.window is None else f" WITHIN {unparse_window(self.window)}"
        lines.append(f"PATTERN ({unparse_row_pattern(self.pattern)}){within}")
        if self.subsets:
            lines.append("SUBSET " + ", ".join(map(_subset, self.subsets)))
        conditions = (
            f"{unparse_variable(each.variable)} AS {unparse_expression(each.condition)}"
            for each in self.define
        )
        lines.append("DEFINE\n    " + ",\n    ".join(conditions))
        return "MATCH_RECOGNIZE (\n  " + "\n".join(lines).replace("\n", "\n  ") + "\n)"

    def _repr_html_(self) -> str:
        return marked_block(str(self), _CLAUSES)


def _order_item(item: OrderItem) -> str:
    direction = " DESC" if item.descending else ""
    return f"{unparse_column(item.column)}{direction}{' NULLS FIRST' if item.nulls_first else ''}"


def _subset(subset: Subset) -> str:
    members = ", ".join(map(unparse_variable, subset.members))
    return f"{unparse_variable(subset.name)} = ({members})"


# --- trees of patterns ------------------------------------------------------------------------


def row_pattern_parts(pattern: RowPattern) -> Iterator[RowPattern]:
    """Yield a pattern and everything below it, parents first, in the order it is written."""
    left = [pattern]
    while left:
        node = left.pop()
        yield node
        if isinstance(node, (Concatenation, Alternation, Permutation)):
            left += reversed(node.parts)
        elif isinstance(node, (Quantified, Excluded)):
            left.append(node.part)


_ALTERNATION, _CONCATENATION, _PRIMARY = range(3)


def unparse_row_pattern(pattern: RowPattern) -> str:
    """Return the text of a pattern, as it stands between the parentheses of PATTERN."""
    return _print(pattern)[0]


def _print(node: RowPattern) -> tuple[str, int]:
    """Return the text of ``node`` and how strongly it binds."""
    if isinstance(node, Alternation):
        return " | ".join(_inside(part, _CONCATENATION) for part in node.parts), _ALTERNATION
    if isinstance(node, Concatenation):
        return " ".join(_inside(part, _PRIMARY) for part in node.parts), _CONCATENATION
    if isinstance(node, Quantified):
        part = _inside(node.part, _PRIMARY)
        inner = f"({part})" if isinstance(node.part, Quantified) else part
        return inner + quantifier_text(node.minimum, node.maximum) + ("" if node.greedy else "?"), _PRIMARY
    if isinstance(node, Excluded):
        return "{- " + unparse_row_pattern(node.part) + " -}", _PRIMARY
    if isinstance(node, Permutation):
        return f"PERMUTE({', '.join(map(unparse_row_pattern, node.parts))})", _PRIMARY
    if isinstance(node, Variable):
        return unparse_variable(node.name), _PRIMARY
    return "()" if isinstance(node, Empty) else "^" if node.start else "$", _PRIMARY


def _inside(node: RowPattern, loosest: int) -> str:
    text, strength = _print(node)
    return text if strength >= loosest else f"({text})"


def quantifier_text(minimum: int, maximum: int | None) -> str:
    """Return a quantifier as it is written, without the mark of a reluctant one."""
    short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((minimum, maximum))
    if short is not None:
        return short
    if minimum == maximum:
        return f"{{{minimum}}}"
    return f"{{{minimum or ''},{'' if maximum is None else maximum}}}"
