"""The rules of a query that text and Python share: every way in makes the same trees, or the same error.

Each function takes the parts of a node and returns the node in its one canonical shape, or raises an
error of the :class:`~fyke.errors.QueryError` tree.  Places are optional: a query built in Python has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Context, Decimal, InvalidOperation
from typing import TypeVar

from fyke.errors import (
    EmptyPatternError,
    Place,
    QuantifierError,
    QuerySyntaxError,
    QueryTooLargeError,
    WindowError,
    WindowLengthError,
    near_misses,
)
from fyke.language.ast import (
    CAST_TYPES,
    And,
    Binary,
    Call,
    Duration,
    Event,
    Expression,
    Funnel,
    Index,
    Literal,
    Node,
    Not,
    Opt,
    Or,
    Pattern,
    Reference,
    Seq,
    Star,
    Strategy,
    Unary,
    Window,
    WindowKind,
    children,
)

LONGEST_CHAIN = 64
LARGEST_INTEGER = 10**38 - 1
LARGEST_SCALE = 38
LARGEST_COUNT = 2**31 - 1
LARGEST_WINDOW = 2**63 - 1
COUNT_DISTINCT, DISTINCT = "count_distinct", "distinct"  # count(DISTINCT x), and what stands in it
OF_MATCHES = ("classifier", "match_number")  # functions of row patterns that speak of the match itself
MOST_COPIED = 10_000  # nodes that CASE may make of its subject

_NANOSECONDS = {
    1: "ns nanosecond nanoseconds",
    10**3: "us µs μs microsecond microseconds",
    10**6: "ms millisecond milliseconds",
    10**9: "s sec second seconds",
    60 * 10**9: "min minute minutes",
    3600 * 10**9: "h hr hrs hour hours",
    24 * 3600 * 10**9: "d day days",
    7 * 24 * 3600 * 10**9: "w week weeks",
}
UNITS = {name: size for size, names in _NANOSECONDS.items() for name in names.split()}
_UNIT_REMEDY = (
    "Units are ns, us, ms, s, seconds, minutes, hours, days, weeks; a window also takes EVENTS, or no unit."
)
INDEX_REMEDY = (
    "The indices of a group are a[i], a[i-1], a[1], a[2], a[a.len] and a[a.len-1]; inside an aggregate also "
    "a[] and a[..i-1]."
)
_EXACT = Context(prec=200)


# --- names and strategies -----------------------------------------------------------------


def checked_name(name: str, what: str, place: Place | None = None) -> str:
    """Return ``name`` unless it is empty; ``what`` says what it names."""
    if not name:
        raise QuerySyntaxError(f"the name of {what} is empty", place=place)
    return checked_text(name, place)


def checked_text(text: str, place: Place | None = None) -> str:
    """Return text unless it has half a character in it (a lone surrogate), which no column can hold."""
    at = half_character(text)
    if at is not None:
        raise QuerySyntaxError(
            f"the text has half a character in it, {text[at]!r}",
            place=place,
            remedy="Read it with the encoding that it was written in, which is most often UTF-8.",
        )
    return text


def half_character(text: str) -> int | None:
    """Return the position of the first lone surrogate in a text."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None


def strategy_named(name: str, place: Place | None = None) -> Strategy:
    """Return the strategy of that name, in any case."""
    for strategy in Strategy:
        if strategy.value == name.lower():
            return strategy
    known = [strategy.value for strategy in Strategy]
    raise QuerySyntaxError(
        f"unknown selection strategy {name!r}",
        place=place,
        remedy="The strategies are " + ", ".join(known) + "." + near_misses(name, known),
    )


# --- patterns -----------------------------------------------------------------------------


def event(
    type_: str | None,
    variable: str,
    bounds: tuple[int, int | None] | None,
    *,
    group: bool,
    optional: bool = False,
    place: Place | None = None,
) -> Event:
    """Return a declaration; ``bounds`` is None without a quantifier, ``optional`` stands for ``?``."""
    if type_ is not None:
        checked_name(type_, "an event type", place)
    checked_name(variable, "a variable", place)
    shown = "ANY" if type_ is None else type_
    if optional or bounds is None:
        if group:
            allowed = f"'{shown}{{0,1}} {variable}[]'" if optional else f"'{shown}+ {variable}[]'"
            single = f"'{shown}{'?' if optional else ''} {variable}'"
            raise QuantifierError(
                f"'{variable}[]' declares a group, but '{shown}{'?' if optional else ''}' binds one event",
                place=place,
                remedy=f"Write {single} for one event, or {allowed} for a group.",
            )
        return Event(type_, variable, 0 if optional else 1, 1, False, place=place)
    minimum, maximum = bounds
    sign = quantifier_sign(minimum, maximum)
    if not group:
        raise QuantifierError(
            f"'{shown}{sign}' binds a group, but '{variable}' is declared without '[]'",
            place=place,
            remedy=f"Write '{shown}{sign} {variable}[]'.",
        )
    if minimum < 0 or maximum == 0 or (maximum is not None and maximum < minimum):
        raise QuantifierError(
            f"no number of events satisfies the quantifier {sign}",
            place=place,
            remedy="Bounds are {n}, {n,} or {n,m} with 0 <= n <= m and m above 0.",
        )
    if max(minimum, maximum or 0) > LARGEST_COUNT:
        raise QuantifierError(f"the quantifier {sign} is above {LARGEST_COUNT}", place=place)
    return Event(type_, variable, minimum, maximum, True, place=place)


def quantifier_sign(minimum: int, maximum: int | None) -> str:
    """Return the quantifier of a group as text: ``+``, ``*``, ``{n}``, ``{n,}`` or ``{n,m}``."""
    if maximum is None:
        return {0: "*", 1: "+"}.get(minimum, f"{{{minimum},}}")
    return f"{{{minimum}}}" if minimum == maximum else f"{{{minimum},{maximum}}}"


_Composite = TypeVar("_Composite", Seq, And, Or)


def composite(
    kind: type[_Composite], parts: Sequence[Pattern], place: Place | None = None
) -> _Composite | Pattern:
    """Return the parts under SEQ, AND or OR; a single part is itself."""
    if not parts:
        raise EmptyPatternError(f"{kind.__name__.upper()} of no patterns binds no event", place=place)
    return parts[0] if len(parts) == 1 else kind(tuple(parts), place=place)


def optional(part: Pattern, place: Place | None = None) -> Pattern:
    """Return a part that may be missing as a whole; of one event its quantifier says so."""
    if isinstance(part, Opt) or (isinstance(part, Event) and part.minimum == 0):
        return part
    if isinstance(part, Event) and part.minimum == 1:
        return replace(part, minimum=0)
    if isinstance(part, (Not, Funnel)):
        what = "an absence" if isinstance(part, Not) else "a funnel"
        raise QuantifierError(
            f"{what} cannot be optional",
            place=place,
            remedy="Make a part optional that has events in it, as in SEQ(A a, (B b, C c)?, D d).",
        )
    return Opt(part, place=place)


def funnel(parts: Sequence[Pattern], place: Place | None = None) -> Funnel:
    """Return the steps of a funnel, two or more single events."""
    for part in parts:
        if not isinstance(part, Event) or part.group or part.minimum == 0:
            raise QuantifierError(
                "the steps of a funnel are single events",
                place=part.place or place,
                remedy="Write FUNNEL(A a, B b, C c); what must not come between is for SEQ.",
            )
    if len(parts) < 2:
        raise EmptyPatternError(
            "a funnel has two steps or more", place=place, remedy="Write FUNNEL(A a, B b)."
        )
    return Funnel(tuple(parts), place=place)


# --- expressions --------------------------------------------------------------------------


def integer(value: int, place: Place | None = None) -> Literal:
    """Return a whole number as a literal; 38 digits are the most a decimal column holds."""
    if abs(value) > LARGEST_INTEGER:
        raise QuerySyntaxError("a whole number has at most 38 digits", place=place)
    return Literal(value, place=place)


def real(value: float, place: Place | None = None) -> Literal:
    """Return a finite number as a literal."""
    if value != value or value in (float("inf"), float("-inf")):
        raise QuerySyntaxError(
            f"{value} is not a number a query can hold",
            place=place,
            remedy="Numbers are finite and below 1.8e308; test NaN with isnan(x).",
        )
    return Literal(value, place=place)


def number(text: str, *, whole: bool, place: Place | None = None) -> Literal:
    """Return the literal that the digits spell; a fraction of more digits than a float holds is a decimal."""
    if not whole:
        nearest, exact = float(text), Decimal(text)
        plain = format(exact, "f") if abs(exact.adjusted()) < LARGEST_SCALE else ""
        lost = Decimal(repr(nearest)) != exact and len(plain.partition(".")[2]) <= LARGEST_SCALE
        if lost and 0 < len(plain.replace(".", "").lstrip("0")) <= LARGEST_SCALE:
            return Literal(Decimal(plain), place=place)
        return real(nearest, place)
    digits = text.lstrip("0")
    return integer(int(digits or "0") if len(digits) <= 38 else LARGEST_INTEGER + 1, place)


def negative(operand: Expression, place: Place | None = None) -> Expression:
    """Return ``-operand``; a number or a duration is negated on the spot."""
    value = operand.value if isinstance(operand, Literal) else None
    if isinstance(value, Decimal):
        return Literal(value.copy_negate(), place=place)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Literal(-value, place=place)
    if isinstance(operand, Duration):
        return Duration(-operand.nanoseconds, place=place)
    return Unary("-", operand, place=place)


def chain(operator: str, operands: Sequence[Expression], place: Place | None = None) -> Expression:
    """Return ``a OR b OR ...`` or ``a AND b AND ...`` as a tree.

    Short chains lean left as every other operator does; long ones are halved until they are short, so
    that thousands of operands make a tree of small depth.
    """
    if len(operands) > LONGEST_CHAIN:
        middle = len(operands) // 2
        halves = (chain(operator, operands[:middle], place), chain(operator, operands[middle:], place))
        return Binary(operator, *halves, place=place)
    tree = operands[0]
    for operand in operands[1:]:
        tree = Binary(operator, tree, operand, place=place)
    return tree


def operands_of(operator: str, tree: Expression) -> list[Expression]:
    """Return the operands of a chain of one operator from left to right, however it leans."""
    found: list[Expression] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Binary) and node.operator == operator:
            waiting += (node.right, node.left)
        else:
            found.append(node)
    return found


def call(function: str, arguments: tuple[Expression, ...], place: Place | None = None) -> Expression:
    """Return a call; ``prev(a.x)``, ``first(a)``, ``last(a.x)`` are references to an element."""
    name = checked_name(function.lower(), "a function", place)
    if name != "count" and any(isinstance(argument, Star) for argument in arguments):
        raise QuerySyntaxError(
            f"only count takes '*', found {name}(*)", place=place, remedy=f"Write {name}(a.x)."
        )
    argument = arguments[0] if len(arguments) == 1 else None
    if isinstance(argument, Reference):
        if name == "prev" and argument.index in (Index.NONE, Index.EACH):
            return Reference(argument.variable, argument.path, Index.PREVIOUS, place=place)
        if name in ("first", "last") and argument.index is Index.NONE:
            index = Index.FIRST if name == "first" else Index.LAST
            return Reference(argument.variable, argument.path, index, place=place)
    if name == "count" and isinstance(argument, Call) and argument.function == DISTINCT:
        return Call(COUNT_DISTINCT, argument.arguments, place=place)
    if any(isinstance(each, Call) and each.function == DISTINCT for each in arguments):
        raise QuerySyntaxError(
            f"only count takes DISTINCT, found {name}(DISTINCT ...)",
            place=place,
            remedy="Write count(DISTINCT a[].x).",
        )
    if name == "prev":
        raise QuerySyntaxError(
            "prev takes one attribute of a group", place=place, remedy="Write prev(a.x) or a[i-1].x."
        )
    return Call(name, arguments, place=place)


def case(
    subject: Expression | None,
    branches: Sequence[tuple[Expression, Expression]],
    otherwise: Expression | None,
    place: Place | None = None,
) -> Expression:
    """Return ``CASE [subject] WHEN ... THEN ... [ELSE ...] END`` as calls of if, one in the other."""
    if subject is not None:
        _check_repeatable(subject, len(branches), place)
    made = Literal(None, place=place) if otherwise is None else otherwise
    for test, value in reversed(branches):
        condition = test if subject is None else Binary("=", subject, test, place=test.place)
        made = Call("if", (condition, value, made), place=place)
    return made


def _check_repeatable(subject: Expression, times: int, place: Place | None) -> None:
    """Raise if a tree would be too large with so many copies of a part of it."""
    level: list[Node] = [subject]
    count = 0
    while level:
        count += len(level)
        if count * times > MOST_COPIED:
            raise QueryTooLargeError(
                f"CASE compares a long expression with {times} values",
                place=place,
                remedy="Write CASE WHEN with conditions, or compute the expression as a column first.",
            )
        level = [child for node in level for child in children(node)]


def cast_type(name: str, digits: int | None, scale: int | None, place: Place | None = None) -> str:
    """Return the name of a type of CAST in its canonical form; DECIMAL alone is DECIMAL(10, 0)."""
    known = {alias: canonical for canonical, aliases in CAST_TYPES.items() for alias in (canonical, *aliases)}
    made = known.get(name.upper())
    if made is None:
        raise QuerySyntaxError(
            f"{name!r} is not a type of CAST",
            place=place,
            remedy=f"The types are {', '.join(CAST_TYPES)}.{near_misses(name.upper(), known)}",
        )
    if made != "DECIMAL":
        if digits is not None:
            raise QuerySyntaxError(
                f"{made} has no number of digits", place=place, remedy=f"Write CAST(a.x AS {made})."
            )
        return made
    digits, scale = 10 if digits is None else digits, scale or 0
    if not (1 <= digits <= 38 and scale <= digits):
        raise QuerySyntaxError(
            f"there is no DECIMAL({digits}, {scale})"[:80],
            place=place,
            remedy="It has at most 38 digits: DECIMAL(18, 2) has 16 before the point and 2 behind it.",
        )
    return f"DECIMAL({digits}, {scale})"


# --- windows and durations ----------------------------------------------------------------


def exact_number(text: str, place: Place | None = None) -> Decimal:
    """Return the number of a window or duration without rounding."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise QuerySyntaxError(f"{text[:40]!r} is not a number", place=place) from None
    if len(text) > 100 or not number.is_finite() or (number and not -100 < number.adjusted() < 100):
        raise QuerySyntaxError("a number out of range", place=place)
    return number


def duration(
    amount: Decimal, unit: str, place: Place | None = None, unit_place: Place | None = None
) -> Duration:
    """Return ``amount unit``, which must be a whole number of nanoseconds within 292 years."""
    size = UNITS.get(unit.lower())
    if size is None:
        known = [*(name for name in UNITS if len(name) > 2), "EVENTS", "AND", "OR", "WITHIN", "RETURN"]
        raise QuerySyntaxError(
            f"{unit!r} is not a unit of time",
            place=unit_place or place,
            remedy=_UNIT_REMEDY + near_misses(unit, known),
        )
    nanoseconds = _EXACT.multiply(amount, Decimal(size))
    if nanoseconds != nanoseconds.to_integral_value():
        raise QuerySyntaxError(f"{amount} {unit} is not a whole number of nanoseconds", place=place)
    if abs(nanoseconds) > LARGEST_WINDOW:
        raise QuerySyntaxError(f"{amount} {unit} is longer than 292 years", place=place)
    return Duration(int(nanoseconds), place=place)


def window(
    amount: Decimal, unit: str | None, place: Place | None = None, unit_place: Place | None = None
) -> Window:
    """Return the window ``WITHIN amount unit``; ``unit`` may be EVENTS, or None for the time column's own."""
    if unit is not None and unit.lower() not in ("event", "events"):
        length = duration(amount, unit, place, unit_place).nanoseconds
        return checked_window(Window(WindowKind.DURATION, length, place=place))
    if amount != amount.to_integral_value():
        what = "units of the time column" if unit is None else "events"
        remedy = "Add a unit of time, as in WITHIN 1.5 hours." if unit is None else ""
        raise WindowError(f"a window counts whole {what}, found {amount}", place=place, remedy=remedy)
    kind = WindowKind.UNITS if unit is None else WindowKind.EVENTS
    return checked_window(Window(kind, int(amount), place=place))


def checked_window(made: Window) -> Window:
    """Return a window that has a length above zero."""
    if not 0 < made.amount <= LARGEST_WINDOW:
        raise WindowLengthError(
            "the window is too long" if made.amount > 0 else "a window must be longer than zero",
            place=made.place,
            remedy="Write a length above zero, as in WITHIN 12 hours, or leave WITHIN out.",
        )
    return made
