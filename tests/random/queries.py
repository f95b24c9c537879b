"""Random legal queries: every operator, quantifier, strategy and kind of condition of the language.

A query is made leaf by leaf, so that most are legal; the few that analysis refuses are the caller's to
reject.  Names of variables are ``a`` to ``f``, event types ``A`` to ``C`` (the streams have others too).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from fyke.language.assemble import assemble
from fyke.language.ast import (
    And,
    Between,
    Binary,
    Call,
    Equivalence,
    Event,
    Expression,
    In,
    Index,
    IsNull,
    Length,
    Like,
    Literal,
    Not,
    Or,
    Pattern,
    Reference,
    ReturnItem,
    Seq,
    Star,
    Strategy,
    Unary,
    Window,
    WindowKind,
    events,
    walk,
)
from fyke.language.query import Query
from fyke.limits import Limits

TYPES = ("A", "B", "C")
_LEAVES = 6
_QUANTIFIERS: tuple[tuple[int, int | None, bool], ...] = (
    *[(1, 1, False)] * 11,
    (0, 1, False),
    *[(1, None, True)] * 4,
    (0, None, True),
    (2, 2, True),
    (2, None, True),
    (1, 2, True),
    (0, 2, True),
    (1, 3, True),
    (1, 1, True),
)
_COMPARISONS = ("<=", "<=", ">=", ">=", "!=", "!=", "<", ">", "=")
_INTEGERS, _FLOATS, _TEXTS = ("x", "x", "k"), ("v",), ("s",)
_NUMBERS = (*_INTEGERS, *_FLOATS, "d")
# Which element of a group, with its distance from the first or from the last.
_NUMBERED = (
    (Index.FIRST, 0),
    (Index.LAST, 0),
    (Index.FIRST, 1),
    (Index.LAST, 1),
    (Index.FIRST, 2),
    (Index.LAST, 2),
)
_ELEMENTS = ((Index.NONE, 0), (Index.EACH, 0), (Index.EACH, 0), (Index.PREVIOUS, 0), *_NUMBERED)
_AGGREGATES = ("avg", "sum", "min", "max", "count", "first", "last")
_NUMBER_LITERALS = (0, 1, 2, 3, 0.5, 1.0, 1.5, -1)
# No standard deviation of the streams' values comes near these, so rounding decides no comparison.
_DEVIATIONS = (0.23, 0.61, 1.13)


@dataclass(frozen=True, slots=True)
class Declared:
    """A variable as conditions see it; ``absence`` numbers the outermost absence around it, from 1."""

    name: str
    group: bool
    absence: int


# --- patterns -----------------------------------------------------------------------------


class _Namer:
    """Hands out names and counts the leaves."""

    def __init__(self) -> None:
        self.used = 0

    def next(self) -> str:
        self.used += 1
        return "abcdefghijkl"[self.used - 1]

    @property
    def left(self) -> int:
        return _LEAVES - self.used


def _leaf(draw: st.DrawFn, namer: _Namer, *, absent: bool = False) -> Event:
    minimum, maximum, group = draw(st.sampled_from(_QUANTIFIERS))
    kind = draw(st.sampled_from((*TYPES, *TYPES, *TYPES, None)))
    return Event(kind, namer.next(), max(minimum, 1) if absent else minimum, maximum, group)


def _part(draw: st.DrawFn, namer: _Namer, depth: int) -> Pattern:
    kinds = ("leaf",) if depth == 0 or namer.left < 2 else (*["leaf"] * 6, "seq", "and", "or", "seq")
    kind = draw(st.sampled_from(kinds))
    if kind == "leaf":
        return _leaf(draw, namer)
    return _composite(draw, namer, depth, kind)


def _composite(draw: st.DrawFn, namer: _Namer, depth: int, kind: str, *, absences: bool = True) -> Pattern:
    count = draw(st.sampled_from((2, 2, 2, 3)))
    if kind == "or":
        return _choice(draw, namer, depth, count)
    parts: list[Pattern] = []
    for _ in range(count):
        if namer.left > 0 and absences and draw(st.sampled_from((*[False] * 7, True))):
            parts.append(Not(_absent(draw, namer)))
        if namer.left > 0:
            parts.append(_part(draw, namer, depth - 1))
    if namer.left > 0 and absences and draw(st.sampled_from((*[False] * 7, True))):
        parts.append(Not(_absent(draw, namer)))
    if len(parts) == 1:
        return parts[0]
    return Seq(tuple(parts)) if kind == "seq" else And(tuple(parts))


def _choice(draw: st.DrawFn, namer: _Namer, depth: int, count: int) -> Pattern:
    """An OR; sometimes its alternatives share a name, as [L]'s pattern 8 does."""
    if namer.left >= 2 and draw(st.sampled_from((False, False, True))):
        first = _leaf(draw, namer, absent=True)
        other = draw(st.sampled_from(TYPES))
        return Or((first, Event(other, first.variable, first.minimum, first.maximum, first.group)))
    parts = tuple(_part(draw, namer, depth - 1) for _ in range(count) if namer.left > 0)
    return parts[0] if len(parts) == 1 else Or(parts)


def _absent(draw: st.DrawFn, namer: _Namer) -> Pattern:
    """What stands under NOT: an event, a group, SEQ, AND, OR, or one of them with an absence inside."""
    kind = draw(st.sampled_from(("leaf", "leaf", "leaf", "seq", "and", "or", "nested")))
    if kind == "leaf" or namer.left < 2:
        return _leaf(draw, namer, absent=True)
    parts: list[Pattern] = [_leaf(draw, namer, absent=True), _leaf(draw, namer, absent=True)]
    if kind == "nested":
        hidden = draw(st.sampled_from((0, 1)))
        parts[hidden] = Not(parts[hidden])
        return draw(st.sampled_from((Seq, And)))(tuple(parts))
    return {"seq": Seq, "and": And, "or": Or}[kind](tuple(parts))


@st.composite
def patterns(draw: st.DrawFn) -> Pattern:
    """A pattern of at most six variables, nested at most three deep."""
    namer = _Namer()
    kind = draw(st.sampled_from((*["seq"] * 6, "and", "and", "or", "leaf")))
    if kind == "leaf":
        return _leaf(draw, namer)
    return _composite(draw, namer, draw(st.sampled_from((1, 1, 2, 3))), kind)


def declared(pattern: Pattern) -> list[Declared]:
    """Return the variables of a pattern, each once."""
    found: dict[str, Declared] = {}
    numbers = iter(range(1, 100))

    def visit(node: Pattern, absence: int) -> None:
        if isinstance(node, Event):
            found.setdefault(node.variable, Declared(node.variable, node.group, absence))
        elif isinstance(node, Not):
            visit(node.part, absence or next(numbers))
        else:
            for part in node.parts:
                visit(part, absence)

    visit(pattern, 0)
    return list(found.values())


# --- conditions ---------------------------------------------------------------------------


def _element(draw: st.DrawFn, variable: Declared, attribute: str) -> Expression:
    """An attribute of one event: of the single, or of some element of the group."""
    if not variable.group:
        return Reference(variable.name, (attribute,))
    index, offset = draw(st.sampled_from(_ELEMENTS))
    return Reference(variable.name, (attribute,), index, offset)


def _aggregate(draw: st.DrawFn, variable: Declared, attribute: str, functions: Sequence[str]) -> Expression:
    index = draw(st.sampled_from((Index.ALL, Index.ALL, Index.BEFORE)))
    argument: Expression = Reference(variable.name, (attribute,), index)
    if attribute in ("x", "v") and draw(st.sampled_from((False, False, False, True))):
        other = draw(st.sampled_from((Literal(1), Reference(variable.name, ("k",), index))))
        argument = Binary("+", argument, other)
    return Call(draw(st.sampled_from(tuple(functions))), (argument,))


def _number(draw: st.DrawFn, variable: Declared) -> Expression:
    """A number about one variable."""
    kind = draw(st.sampled_from(("element", "element", "element", "aggregate", "length")))
    attribute = draw(st.sampled_from(_NUMBERS))
    if not variable.group or kind == "element":
        return _element(draw, variable, attribute)
    if kind == "length":
        return Length(variable.name)
    return _aggregate(draw, variable, attribute, _AGGREGATES)


def _text(draw: st.DrawFn, variable: Declared) -> Expression:
    if variable.group and draw(st.sampled_from((False, False, True))):
        return _aggregate(draw, variable, "s", ("min", "max", "first", "last"))
    return _element(draw, variable, "s")


def _computed(draw: st.DrawFn, term: Expression, variables: Sequence[Declared]) -> Expression:
    """Sometimes put arithmetic or a function around a number."""
    kind = draw(
        st.sampled_from((*["plain"] * 5, "+", "-", "*", "/", "%", "abs", "coalesce", "least", "negate", "if"))
    )
    if kind == "plain":
        return term
    if kind in ("+", "-", "*", "/", "%"):
        other: Expression = Literal(draw(st.sampled_from((1, 2, 0, 0.5))))
        if draw(st.sampled_from((False, False, True))):
            other = _number(draw, draw(st.sampled_from(tuple(variables))))
        # Quotients of decimals of several events are refused, and too large integers beside them.
        paths = {node.path for n in (term, other) for node in walk(n) if isinstance(node, Reference)}
        decimal = ("d",) in paths
        if decimal and {("x",), ("k",)} & paths:
            other = Literal(2)
        return Binary("*" if decimal and kind == "/" else kind, term, other)
    if kind == "negate":
        return Unary("-", term)
    if kind == "abs":
        return Call("abs", (term,))
    if kind == "if":
        return Call("if", (IsNull(term), Literal(1), Literal(2)))
    return Call(kind, (term, Literal(draw(st.sampled_from((0, 1, 2))))))


def _comparison(draw: st.DrawFn, variables: Sequence[Declared]) -> Expression:
    left, right = (draw(st.sampled_from(tuple(variables))) for _ in range(2))
    operator = draw(st.sampled_from(_COMPARISONS))
    kind = draw(st.sampled_from((*["number"] * 7, "text", "truth", "deviation")))
    if kind == "text":
        other = Literal(draw(st.sampled_from(("p", "q", "é")))) if left == right else _text(draw, right)
        return Binary(operator, _text(draw, left), other)
    if kind == "truth":
        return Binary(
            draw(st.sampled_from(("=", "!="))), _element(draw, left, "f"), _element(draw, right, "f")
        )
    if kind == "deviation" and left.group:
        spread = _aggregate(draw, left, draw(st.sampled_from(("x", "v"))), ("stddev",))
        return Binary(draw(st.sampled_from(("<", ">"))), spread, Literal(draw(st.sampled_from(_DEVIATIONS))))
    first = _computed(draw, _number(draw, left), variables)
    if left == right and draw(st.booleans()):
        return Binary(operator, first, Literal(draw(st.sampled_from(_NUMBER_LITERALS))))
    return Binary(operator, first, _computed(draw, _number(draw, right), variables))


def _predicate(draw: st.DrawFn, variables: Sequence[Declared]) -> Expression:
    variable = draw(st.sampled_from(tuple(variables)))
    kind = draw(st.sampled_from(("in", "texts", "between", "null", "like", "truth", "function")))
    negated = draw(st.sampled_from((False, False, True)))
    if kind == "in":
        options = draw(st.lists(st.sampled_from((0, 1, 2, 3, 1.5, None)), min_size=2, max_size=4))
        return In(_number(draw, variable), tuple(map(Literal, options)), negated)
    if kind == "texts":
        return In(_text(draw, variable), (Literal("p"), Literal(draw(st.sampled_from(("q", "é"))))), negated)
    if kind == "between":
        other = draw(st.sampled_from(tuple(variables)))
        return Between(_number(draw, variable), Literal(0), _number(draw, other), negated)
    if kind == "null":
        return IsNull(
            _element(draw, variable, draw(st.sampled_from(("x", "v", "s", "f", "k", "d")))), not negated
        )
    # Functions of texts, and a truth by itself, look at one event: the row decides them alone.
    own = Reference(variable.name, ("s",), Index.EACH if variable.group else Index.NONE)
    if kind == "like":
        return Like(own, Literal(draw(st.sampled_from(("p%", "%", "_", "q")))), negated)
    if kind == "truth":
        return Reference(variable.name, ("f",), own.index)
    name = draw(st.sampled_from(("startswith", "contains", "length")))
    if name == "length":
        return Binary(">=", Call("length", (own,)), Literal(1))
    return Call(name, (own, Literal("p")))


def _condition(draw: st.DrawFn, variables: Sequence[Declared], depth: int = 1) -> Expression:
    kind = draw(
        st.sampled_from((*["compare"] * 6, "predicate", "predicate", *(["not", "or", "or", "and"] * depth)))
    )
    if kind == "compare":
        return _comparison(draw, variables)
    if kind == "predicate":
        return _predicate(draw, variables)
    if kind == "not":
        return Unary("NOT", _condition(draw, variables, depth - 1))
    parts = [_condition(draw, variables, depth - 1) for _ in range(2)]
    if kind == "and":  # a conjunct by itself would be split: it stands below NOT
        return Unary("NOT", Binary("AND", Unary("NOT", parts[0]), Unary("NOT", parts[1])))
    return Binary("OR", *parts)


def _chain(attribute: str, variables: Sequence[Declared]) -> list[Expression]:
    """``a.k = b.k AND b.k = c.k ...``, for a group also between its elements."""
    found: list[Expression] = []
    for left, right in itertools.pairwise(variables):
        found.append(Binary("=", Reference(left.name, (attribute,)), Reference(right.name, (attribute,))))
    for variable in variables:
        if variable.group:
            elements = (
                Reference(variable.name, (attribute,), index) for index in (Index.EACH, Index.PREVIOUS)
            )
            found.append(Binary("=", *elements))
    return found


@st.composite
def conditions(draw: st.DrawFn, variables: Sequence[Declared]) -> list[Expression]:
    """The conjuncts of WHERE."""
    found: list[Expression] = []
    key = draw(st.sampled_from((*["none"] * 6, "k", "k", "s", "k, s", "v", "chain", "chain", "chain s")))
    if key.startswith("chain"):
        found += _chain("s" if "s" in key else "k", variables)
        found = found[: draw(st.sampled_from((len(found), len(found), 1)))]
    elif key != "none":
        found.append(Equivalence(tuple(key.split(", "))))
    for _ in range(draw(st.sampled_from((0, 0, 1, 1, 1, 1, 2, 2, 3)))):
        # A condition may relate an absence to what is present, or to itself, never two absences.
        allowed = draw(st.sampled_from((0, *dict.fromkeys(v.absence for v in variables))))
        about = [v for v in variables if v.absence in (0, allowed)]
        if about:
            found.append(_condition(draw, about))
    return found


# --- windows, RETURN, the query ---------------------------------------------------------------


@st.composite
def windows(draw: st.DrawFn, pattern: Pattern, unit: int | None) -> Window | None:
    """A window, in nanoseconds if a unit of the time column is given; none where it may be missing."""
    absences = any(isinstance(node, Not) for node in walk(pattern))
    kind = draw(st.sampled_from((*["time"] * 6, "events", "events", *(["none"] * (1 if absences else 3)))))
    if kind == "none":
        return None
    if kind == "events":
        needed = sum(max(1, event.minimum) for event in events(pattern))
        return Window(WindowKind.EVENTS, draw(st.sampled_from((3, 4, 5, 6, 8))) + (needed > 3))
    amount = draw(st.sampled_from((2, 4, 5, 6, 8, 10, 20)))
    return Window(WindowKind.UNITS, amount) if unit is None else Window(WindowKind.DURATION, amount * unit)


def _value(draw: st.DrawFn, variable: Declared) -> Expression:
    """A value of a match: no list."""
    attribute = draw(st.sampled_from(("x", "v", "s", "f", "k", "d")))
    if not variable.group:
        return Reference(variable.name, (attribute,))
    kind = draw(st.sampled_from(("element", "element", "length", "aggregate", "aggregate", "aggregate")))
    if kind == "element":
        return Reference(variable.name, (attribute,), *draw(st.sampled_from(_NUMBERED)))
    if kind == "length":
        return Length(variable.name)
    functions = (
        (*_AGGREGATES, "stddev")
        if attribute in ("x", "v", "k", "d")
        else ("min", "max", "count", "first", "last")
    )
    return Call(draw(st.sampled_from(functions)), (Reference(variable.name, (attribute,), Index.ALL),))


def _is_number(expression: Expression) -> bool:
    references = [node for node in walk(expression) if isinstance(node, Reference)]
    return all(node.path[0] in ("x", "v", "k", "d") for node in references)


def _returned(draw: st.DrawFn, variables: Sequence[Declared]) -> Expression:
    variable = draw(st.sampled_from(tuple(variables)))
    if draw(st.sampled_from((False, False, True))):
        return Reference(variable.name, ())
    value = _value(draw, variable)
    if not _is_number(value) or any(n.path == ("d",) for n in walk(value) if isinstance(n, Reference)):
        return value
    kind = draw(st.sampled_from(("plain", "plain", "+", "*", "/", "coalesce", "abs", "greatest")))
    if kind in "+*/":
        other = _value(draw, draw(st.sampled_from(tuple(variables))))
        fits = _is_number(other) and not any(
            n.path == ("d",) for n in walk(other) if isinstance(n, Reference)
        )
        return Binary(kind, value, other if fits else Literal(2))
    if kind == "abs":
        return Call("abs", (value,))
    return value if kind == "plain" else Call(kind, (value, Literal(1)))


def _over_matches(draw: st.DrawFn, variables: Sequence[Declared]) -> Expression:
    if draw(st.sampled_from((True, False, False))):
        return Call("count", (Star(),))
    value = _value(draw, draw(st.sampled_from(tuple(variables))))
    numeric = _is_number(value)
    name = draw(
        st.sampled_from(
            ("sum", "avg", "min", "max", "count", "stddev") if numeric else ("min", "max", "count")
        )
    )
    return Call(name, (value,))


@st.composite
def returns(draw: st.DrawFn, variables: Sequence[Declared]) -> list[ReturnItem] | None:
    """RETURN: nothing, items of a match, or aggregates over matches."""
    present = [variable for variable in variables if variable.absence == 0]
    kind = draw(st.sampled_from((*["none"] * 5, "values", "values", "values", "over")))
    if kind == "none" or not present:
        return None
    make = _over_matches if kind == "over" else _returned
    count = draw(st.sampled_from((1, 2, 3)))
    return [ReturnItem(make(draw, present), f"r{number}") for number in range(count)]


@st.composite
def queries(draw: st.DrawFn, unit: int | None = None, strategy: Strategy | None = None) -> Query:
    """A whole query; ``unit`` is that of the time column in nanoseconds, None for plain numbers."""
    pattern = draw(patterns())
    variables = declared(pattern)
    chosen = strategy or draw(st.sampled_from(Strategy))
    window = draw(windows(pattern, unit))
    where = draw(conditions(variables))
    items = draw(returns(variables))
    return assemble(pattern, where, chosen, window, items, None, None, Limits())


def features(query: Query) -> Iterator[str]:
    """Name what a query uses, so that a run can prove what it has covered."""
    yield query.strategy.value
    yield f"window {query.window.kind.value}" if query.window else "no window"
    for node in walk(query.pattern):
        yield type(node).__name__
        if isinstance(node, Event):
            yield "ANY" if node.type is None else "type"
            yield f"{{{node.minimum},{'' if node.maximum is None else node.maximum}}}{'[]' * node.group}"
        if isinstance(node, Not):
            yield f"Not {type(node.part).__name__}"
            yield (
                "nested absence"
                if any(isinstance(n, Not) for n in walk(node.part) if n is not node)
                else "absence"
            )
    absent = {variable.name for variable in declared(query.pattern) if variable.absence}
    for conjunct in query.conditions:
        for node in walk(conjunct):
            yield type(node).__name__
            if isinstance(node, Reference):
                yield f"index {node.index.name}{' by number' if node.offset else ''}"
                yield "condition of an absence" if node.variable in absent else "condition"
            if isinstance(node, (Binary, Unary)):
                yield f"operator {node.operator}"
            if isinstance(node, Call):
                yield f"function {node.function}"
    for item in query.returns or ():
        yield "RETURN"
        for node in walk(item.expression):
            yield f"RETURN {type(node).__name__}"
