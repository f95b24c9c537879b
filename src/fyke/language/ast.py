"""The nouns of a query as its author wrote it: patterns, expressions, window, RETURN items.

:class:`~fyke.language.query.Query` puts them together.

Trees are immutable and compare by meaning: places in the text never take part in equality.
The same tree comes from the text (:mod:`fyke.language.sase`) and from Python
(:mod:`fyke.language.builder`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from decimal import Decimal
from enum import Enum
from typing import Any

from fyke.errors import Place


def _place() -> Place | None:
    return field(default=None, compare=False, repr=False, kw_only=True)


# --- patterns (SEMANTICS 2) -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Event:
    """``Type v``, ``Type? v``, ``Type+ v[]``, ``Type* v[]``, ``Type{n,m} v[]``.

    ``type`` is None for ANY.  ``maximum`` is None for no upper bound.  ``group`` says whether the
    variable was declared with ``[]``; a single variable has bounds (1, 1), or (0, 1) for ``?``.
    """

    type: str | None
    variable: str
    minimum: int = 1
    maximum: int | None = 1
    group: bool = False
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Seq:
    """All of the left before all of the right."""

    parts: tuple[Pattern, ...]
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class And:
    """Any order; ``{p, ...}`` means the same."""

    parts: tuple[Pattern, ...]
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Or:
    """One of them."""

    parts: tuple[Pattern, ...]
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Not:
    """Absence."""

    part: Pattern
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Opt:
    """``p?``: the part, or nothing in its place.  An optional event is an :class:`Event` of minimum 0."""

    part: Pattern
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Funnel:
    """As many of the first parts, in sequence, as there are: the whole of a pattern."""

    parts: tuple[Pattern, ...]
    place: Place | None = _place()


Pattern = Event | Seq | And | Or | Not | Opt | Funnel


# --- expressions (SEMANTICS 3) ----------------------------------------------------------


class Index(Enum):
    """Which element of a group a reference means."""

    NONE = ""  # a.x: the event; over a group every element
    EACH = "i"  # a[i].x: every element
    PREVIOUS = "i-1"  # a[i-1].x, prev(a.x): the element before, from i = 2
    FIRST = "1"  # a[1].x, first(a).x
    LAST = "len"  # a[a.len].x, last(a).x
    ALL = "all"  # a[].x, inside an aggregate: the whole group
    BEFORE = "..i-1"  # a[..i-1].x, inside an aggregate: the elements before, from i = 2


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, a string, TRUE, FALSE or NULL; as analysis leaves it also a decimal."""

    value: int | float | str | bool | Decimal | None
    place: Place | None = _place()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        # 1, 1.0 and TRUE are different literals although Python calls them equal.
        return type(self.value) is type(other.value) and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash((type(self.value), repr(self.value)))


@dataclass(frozen=True, slots=True)
class Duration:
    """``5 minutes``: a length of time in nanoseconds."""

    nanoseconds: int
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Timestamp:
    """``TIMESTAMP '2026-01-31 12:00:00'``; the text is kept, the time column's zone decides."""

    text: str
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Reference:
    """``a.x``, ``a[i].x``, ``a[1].loc.lat``; with an empty path the whole event (in RETURN).

    ``offset`` counts elements on from the first, or back from the last: ``a[2]``, ``a[a.len-1]``.
    """

    variable: str
    path: tuple[str, ...]
    index: Index = Index.NONE
    offset: int = 0
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Length:
    """``a.len``: the number of events in a group."""

    variable: str
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Equivalence:
    """``[x]`` or ``[x, y]``: all events of the match agree on the attributes.  Stands as a conjunct."""

    attributes: tuple[str, ...]
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Unary:
    """``-x`` (operator ``-``) or ``NOT x`` (operator ``NOT``)."""

    operator: str
    operand: Expression
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic ``+ - * / %``, comparison ``= != < <= > >=``, or ``AND`` / ``OR``."""

    operator: str
    left: Expression
    right: Expression
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class In:
    """``x IN (a, b, ...)`` or ``x NOT IN (...)``."""

    operand: Expression
    options: tuple[Expression, ...]
    negated: bool = False
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Between:
    """``x BETWEEN low AND high`` or its negation; both bounds inclusive."""

    operand: Expression
    low: Expression
    high: Expression
    negated: bool = False
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Like:
    """``x LIKE 'pattern'``: ``%`` any text, ``_`` one character, backslash escapes."""

    operand: Expression
    pattern: Expression
    negated: bool = False
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class IsNull:
    """``x IS NULL`` or ``x IS NOT NULL``."""

    operand: Expression
    negated: bool = False
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Call:
    """A function call; names are lower case.  ``count(*)`` has the one argument :class:`Star`."""

    function: str
    arguments: tuple[Expression, ...]
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Cast:
    """``CAST(x AS type)``, null where ``x`` has no such value; ``type`` is as :data:`CAST_TYPES` has it."""

    operand: Expression
    type: str
    place: Place | None = _place()


CAST_TYPES = {
    "BOOLEAN": ("BOOL",),
    "TINYINT": ("BYTE",),
    "SMALLINT": ("SHORT",),
    "INT": ("INTEGER",),
    "BIGINT": ("LONG",),
    "FLOAT": ("REAL",),
    "DOUBLE": (),
    "DECIMAL": ("DEC", "NUMERIC"),  # followed by (digits, digits behind the point)
    "STRING": ("TEXT", "VARCHAR"),
    "DATE": (),
    "TIMESTAMP": (),
}
"""The types of CAST with their other names."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """``:name``: a value that is given with the events."""

    name: str
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Star:
    """The ``*`` of ``count(*)``."""

    place: Place | None = _place()


# --- expressions of row patterns ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Column:
    """``x``, ``loc.lat`` (``variable`` None: any row of the match), ``A.x``, ``A.*`` (no path: the rows).

    ``variable`` is a pattern variable or a SUBSET name, as :mod:`fyke.language.row_patterns` folds it.
    """

    path: tuple[str, ...]
    variable: str | None = None
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Navigation:
    """``FIRST(A.x, n)``, ``LAST(A.x, n)``, ``PREV(x, n)``, ``NEXT(x, n)``; functions in capitals.

    ``offset`` is what is written or the default: 0 for FIRST and LAST, 1 for PREV and NEXT.  The operand
    of PREV and NEXT may be a FIRST or LAST, under ``Seen`` or not; no other navigation holds one.
    """

    function: str
    operand: Expression
    offset: int
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class Seen:
    """``RUNNING f(...)`` or ``FINAL f(...)``, of a FIRST, a LAST or an aggregate."""

    operand: Expression
    final: bool
    place: Place | None = _place()


Expression = (
    Literal
    | Duration
    | Timestamp
    | Reference
    | Length
    | Equivalence
    | Unary
    | Binary
    | In
    | Between
    | Like
    | IsNull
    | Call
    | Cast
    | Parameter
    | Star
    | Column
    | Navigation
    | Seen
)


# --- the query --------------------------------------------------------------------------


class Strategy(Enum):
    """The selection strategies of SEMANTICS 4."""

    ANY = "skip_till_any_match"
    NEXT = "skip_till_next_match"
    GREEDY = "greedy_skip_till_next_match"
    ROBUST = "robust_skip_till_next_match"
    PARTITION = "partition_contiguity"
    STRICT = "strict_contiguity"
    GREEDY_PARTITION = "greedy_partition_contiguity"
    GREEDY_STRICT = "greedy_strict_contiguity"

    @property
    def greedy(self) -> bool:
        """Whether a run takes whatever it can and is reported once, in its final form."""
        return self in (Strategy.GREEDY, Strategy.GREEDY_PARTITION, Strategy.GREEDY_STRICT)

    @property
    def contiguous(self) -> bool:
        """Whether no event of its partition may be passed over by a run."""
        return self.strict or self in (Strategy.PARTITION, Strategy.GREEDY_PARTITION)

    @property
    def strict(self) -> bool:
        """Whether no event of the whole input may be passed over by a run."""
        return self in (Strategy.STRICT, Strategy.GREEDY_STRICT)


class WindowKind(Enum):
    """What the number of a WITHIN clause counts."""

    DURATION = "duration"  # nanoseconds, written with a unit
    UNITS = "units"  # units of the time column, written without a unit
    EVENTS = "events"  # input events of the partition


@dataclass(frozen=True, slots=True)
class Window:
    """``WITHIN 12 hours`` (nanoseconds), ``WITHIN 15`` (units), ``WITHIN 100 EVENTS``."""

    kind: WindowKind
    amount: int
    place: Place | None = _place()


@dataclass(frozen=True, slots=True)
class ReturnItem:
    """One item of RETURN; ``alias`` is the name given with AS, or None."""

    expression: Expression
    alias: str | None = None
    place: Place | None = _place()


Node = Pattern | Expression | ReturnItem


# Asking a dataclass takes as long as the rest of a walk.
_FIELDS: dict[type[Any], tuple[str, ...]] = {}
_IS_NODE: dict[type[Any], bool] = {}


def _field_names(node: Node) -> tuple[str, ...]:
    kind = type(node)
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(spec.name for spec in fields(kind) if spec.name != "place")
    return _FIELDS[kind]


def _is_node(value: object) -> bool:
    kind = type(value)
    if kind not in _IS_NODE:
        _IS_NODE[kind] = is_dataclass(kind) and kind is not Place
    return _IS_NODE[kind]


def children(node: Node) -> list[Node]:
    """Return the direct sub-trees of a pattern or an expression, in order."""
    found: list[Node] = []
    for name in _FIELDS.get(type(node)) or _field_names(node):
        value = getattr(node, name)
        kind = type(value)
        if kind is tuple:
            found += [item for item in value if _is_node(item)]
        elif _IS_NODE[kind] if kind in _IS_NODE else _is_node(value):
            found.append(value)
    return found


def map_children(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Return an expression with ``change`` applied to each direct sub-expression."""
    updates: dict[str, Any] = {}
    for name in _field_names(node):
        value = getattr(node, name)
        if isinstance(value, tuple) and name in ("arguments", "options"):
            updates[name] = tuple(change(item) for item in value)
        elif _is_node(value):
            updates[name] = change(value)
    return replace(node, **updates) if updates else node


def map_references(node: Expression, change: Callable[[Reference], Expression]) -> Expression:
    """Return an expression with ``change`` applied to every reference in it."""
    if isinstance(node, Reference):
        return change(node)
    return map_children(node, lambda child: map_references(child, change))


def walk(node: Node) -> Iterator[Node]:
    """Yield ``node`` and everything below it, parents first."""
    left = [node]
    while left:
        node = left.pop()
        yield node
        left += reversed(children(node))


def events(pattern: Pattern) -> Iterator[Event]:
    """Yield the event declarations of a pattern in the order they are written, absences included."""
    for node in walk(pattern):
        if isinstance(node, Event):
            yield node
