"""Trees back to text: canonical, readable, and parsed again to an equal tree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from fyke.language.ast import (
    And,
    Between,
    Binary,
    Call,
    Cast,
    Column,
    Duration,
    Equivalence,
    Event,
    Expression,
    Funnel,
    In,
    Index,
    IsNull,
    Length,
    Like,
    Literal,
    Navigation,
    Not,
    Opt,
    Or,
    Parameter,
    Pattern,
    Reference,
    ReturnItem,
    Seen,
    Seq,
    Star,
    Strategy,
    Timestamp,
    Unary,
    Window,
    WindowKind,
)
from fyke.language.rules import COUNT_DISTINCT, OF_MATCHES, UNITS, chain, operands_of, quantifier_sign

# The words that sase.lark rules out in each position; everything else that is a word needs no quotes.
_NOT_A_TYPE = "seq|and|or|not|any|where|within|return|pattern"
_NOT_A_VARIABLE = "and|or|not|in|is|between|like|null|true|false|where|within|return"
_WORD = re.compile(r"[^\W\d]\w*")
_TYPE = re.compile(rf"(?!(?:{_NOT_A_TYPE})\b)[^\W\d]\w*", re.IGNORECASE)
_VARIABLE = re.compile(rf"(?!(?:{_NOT_A_VARIABLE})\b)[^\W\d]\w*", re.IGNORECASE)

_NOT_A_ROW_VARIABLE = ("PERMUTE",)

_DURATION_UNITS = ("weeks", "days", "hours", "minutes", "seconds", "ms", "us", "ns")
_SUBSCRIPTS = {
    Index.NONE: "",
    Index.EACH: "[i]",
    Index.PREVIOUS: "[i-1]",
    Index.ALL: "[]",
    Index.BEFORE: "[..i-1]",
}

# Binding strength, loosest first, as in the grammar.
_OR, _AND, _NOT, _PREDICATE, _SUM, _PRODUCT, _SIGN, _ATOM = range(8)
_STRENGTH = {"OR": _OR, "AND": _AND, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT}


def unparse_query_parts(
    label: str | None,
    pattern: Pattern,
    strategy: Strategy,
    conditions: Sequence[Expression],
    window: Window | None,
    returns: Sequence[ReturnItem] | None,
) -> str:
    """Return the canonical text of a query, a clause to a line."""
    name = "" if label is None else f"{_name(label, _TYPE)}: "
    lines = [f"{name}PATTERN {unparse_pattern(pattern)}"]
    if conditions or strategy is not Strategy.NEXT:
        lines.append(f"WHERE {strategy.value} {_braces(conditions)}")
    if window is not None:
        lines.append(f"WITHIN {unparse_window(window)}")
    if returns is not None:
        lines.append("RETURN " + ", ".join(_item(item) for item in returns))
    return "\n".join(lines)


def unparse_relational_parts(
    label: str | None,
    items: Sequence[ReturnItem] | None,
    streams: Sequence[tuple[str, str]],
    window: Window,
    slide: Window | None,
    conditions: Sequence[Expression],
) -> str:
    """Return the canonical text of a relational query, a clause to a line; streams are (name, alias)."""
    name = "" if label is None else f"{_name(label, _TYPE)}: "
    selected = "*" if items is None else ", ".join(_item(item) for item in items)
    span = f"RANGE {unparse_window(window)}" + ("" if slide is None else f" SLIDE {unparse_window(slide)}")
    joined = "; ".join(
        _name(stream, _TYPE) + ("" if alias == stream else f" AS {_name(alias, _VARIABLE)}")
        for stream, alias in streams
    )
    lines = [f"{name}SELECT {selected}", f"FROM [{span}] {joined}"]
    if conditions:
        lines.append(f"WHERE {_braces(conditions)}")
    return "\n".join(lines)


def _braces(conditions: Sequence[Expression]) -> str:
    if not conditions:
        return "{ }"
    if len(conditions) == 1:
        return f"{{ {unparse_expression(conditions[0])} }}"
    return "{\n    " + "\n    AND ".join(_operand(condition, _NOT) for condition in conditions) + "\n}"


def _item(item: ReturnItem) -> str:
    alias = "" if item.alias is None else f" AS {_name(item.alias, _WORD)}"
    return unparse_expression(item.expression) + alias


def unparse_window(window: Window) -> str:
    """Return the text of a window, as it stands behind WITHIN."""
    if window.kind is WindowKind.DURATION:
        return _duration(window.amount)
    return f"{window.amount} EVENTS" if window.kind is WindowKind.EVENTS else str(window.amount)


def _duration(nanoseconds: int) -> str:
    unit = next(unit for unit in _DURATION_UNITS if nanoseconds % UNITS[unit] == 0)
    amount = nanoseconds // UNITS[unit]
    if nanoseconds == 0:
        unit = "seconds"
    return f"{amount} {unit.removesuffix('s') if abs(amount) == 1 and len(unit) > 2 else unit}"


def _name(name: str, plain: re.Pattern[str], quote: str = '"') -> str:
    return name if plain.fullmatch(name) else quote + name.replace(quote, quote * 2) + quote


# --- patterns -----------------------------------------------------------------------------


def unparse_pattern(pattern: Pattern) -> str:
    """Return the text of a pattern, on one line."""
    if isinstance(pattern, Event):
        return _event(pattern)
    if isinstance(pattern, Not):
        return "~" + unparse_pattern(pattern.part)
    if isinstance(pattern, Opt):
        inner = unparse_pattern(pattern.part)
        return f"({inner})?" if isinstance(pattern.part, Event) else f"{inner}?"
    operator = {Seq: "SEQ", And: "AND", Or: "OR", Funnel: "FUNNEL"}[type(pattern)]
    return f"{operator}({', '.join(unparse_pattern(part) for part in pattern.parts)})"


def _event(event: Event) -> str:
    type_ = "ANY" if event.type is None else _name(event.type, _TYPE)
    variable = _name(event.variable, _VARIABLE)
    if event.group:
        return f"{type_}{quantifier_sign(event.minimum, event.maximum)} {variable}[]"
    return f"{type_}{'?' if event.minimum == 0 else ''} {variable}"


# --- expressions --------------------------------------------------------------------------


def unparse_expression(expression: Expression) -> str:
    """Return the text of an expression with as few parentheses as its shape needs."""
    return _print(expression)[0]


def _operand(expression: Expression, loosest: int) -> str:
    """Return the text of an operand where everything looser than ``loosest`` needs parentheses."""
    text, strength = _print(expression)
    return text if strength >= loosest else f"({text})"


def _print(node: Expression) -> tuple[str, int]:
    """Return the text of ``node`` and how strongly it binds."""
    if isinstance(node, Binary):
        return _binary(node)
    if isinstance(node, Unary):
        if node.operator == "NOT":
            return f"NOT {_operand(node.operand, _NOT)}", _NOT
        return f"-{_operand(node.operand, _ATOM)}", _SIGN  # never "--", which starts a comment
    if isinstance(node, (In, Between, Like, IsNull)):
        return _predicate(node), _PREDICATE
    if isinstance(node, (Column, Navigation, Seen)):
        return _of_rows(node), _ATOM
    if isinstance(node, (Literal, Duration)):
        text = _literal(node.value) if isinstance(node, Literal) else _duration(node.nanoseconds)
        return text, _SIGN if text.startswith("-") else _ATOM
    return _atom(node), _ATOM


def _binary(node: Binary) -> tuple[str, int]:
    strength = _STRENGTH.get(node.operator, _PREDICATE)
    if node.operator in ("AND", "OR"):
        operands = operands_of(node.operator, node)
        if chain(node.operator, operands) != node:
            operands = [node.left, node.right]
        return f" {node.operator} ".join(_operand(operand, strength + 1) for operand in operands), strength
    left = strength + 1 if strength == _PREDICATE else strength
    return f"{_operand(node.left, left)} {node.operator} {_operand(node.right, strength + 1)}", strength


def _predicate(node: In | Between | Like | IsNull) -> str:
    operand = _operand(node.operand, _SUM)
    negation = "NOT " if node.negated else ""
    if isinstance(node, In):
        return f"{operand} {negation}IN ({', '.join(unparse_expression(option) for option in node.options)})"
    if isinstance(node, Between):
        return f"{operand} {negation}BETWEEN {_operand(node.low, _SUM)} AND {_operand(node.high, _SUM)}"
    if isinstance(node, Like):
        return f"{operand} {negation}LIKE {_operand(node.pattern, _SUM)}"
    return f"{operand} IS {negation}NULL"


def _literal(value: int | float | str | bool | Decimal | None) -> str:
    if isinstance(value, str):
        return _string(value)
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    return format(value, "f") if isinstance(value, Decimal) else repr(value)


def _string(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _atom(node: Timestamp | Reference | Length | Equivalence | Call | Cast | Parameter | Star) -> str:
    if isinstance(node, Reference):
        return _reference(node)
    if isinstance(node, Call) and node.function == COUNT_DISTINCT:
        return f"count(DISTINCT {', '.join(map(unparse_expression, node.arguments))})"
    if isinstance(node, Call) and node.function in OF_MATCHES:
        variables = [_variable(each) for each in node.arguments if isinstance(each, Column)]
        return f"{node.function.upper()}({', '.join(variables)})"
    if isinstance(node, Call):
        return f"{_name(node.function, _VARIABLE)}({', '.join(map(unparse_expression, node.arguments))})"
    if isinstance(node, Cast):
        return f"CAST({unparse_expression(node.operand)} AS {node.type})"
    if isinstance(node, Parameter):
        return f":{node.name}"
    if isinstance(node, Equivalence):
        return f"[{', '.join(_name(attribute, _WORD) for attribute in node.attributes)}]"
    if isinstance(node, Length):
        return f"{_name(node.variable, _VARIABLE)}.len"
    return f"TIMESTAMP {_string(node.text)}" if isinstance(node, Timestamp) else "*"


def _reference(node: Reference) -> str:
    if not node.path and node.index is Index.NONE:
        return _name(node.variable, _VARIABLE, quote="`")  # "name" alone is taken for a misquoted string
    variable = _name(node.variable, _VARIABLE)
    subscript = _SUBSCRIPTS.get(node.index, "")
    if node.index is Index.FIRST:
        subscript = f"[{1 + node.offset}]"
    elif node.index is Index.LAST:
        subscript = f"[{variable}.len-{node.offset}]" if node.offset else f"[{variable}.len]"
    path = [_name(step, _WORD) for step in node.path]
    if path and node.index is Index.NONE and path[0].lower() == "len":
        path[0] = f'"{path[0]}"'  # a column; a bare .len is the length of the group
    return ".".join([variable + subscript, *path])


# --- expressions of row patterns ------------------------------------------------------------


def unparse_variable(name: str) -> str:
    """Return a variable of a row pattern: without quotes it would be read in capitals."""
    plain = _VARIABLE.fullmatch(name) and name == name.upper() and name not in _NOT_A_ROW_VARIABLE
    return name if plain else '"' + name.replace('"', '""') + '"'


def unparse_column(name: str) -> str:
    """Return the name of a column as it stands in a clause of row patterns."""
    return _name(name, _VARIABLE)


def _variable(column: Column) -> str:
    return "" if column.variable is None else unparse_variable(column.variable)


def _of_rows(node: Column | Navigation | Seen) -> str:
    if isinstance(node, Seen):
        return f"{'FINAL' if node.final else 'RUNNING'} {unparse_expression(node.operand)}"
    if isinstance(node, Navigation):
        default = 1 if node.function in ("PREV", "NEXT") else 0
        offset = "" if node.offset == default else f", {node.offset}"
        return f"{node.function}({unparse_expression(node.operand)}{offset})"
    steps = [_name(step, _WORD) for step in node.path]
    if node.variable is not None:
        return ".".join([_variable(node), *(steps or "*")])
    return ".".join([_name(node.path[0], _VARIABLE, quote="`"), *steps[1:]])
