"""Expressions over one row to Spark SQL, so that Catalyst evaluates them (and may push them into Parquet).

Where Spark SQL differs from the language the difference is made up for here: overflow and division by
zero give null, integers have 64 bits and floats are doubles, a duration is elapsed time (Spark adds and
subtracts wall-clock time of the session's zone), and a time without a zone is UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from fyke.engine.conditions.evaluate import parse_timestamp
from fyke.errors import QueryTooLargeError
from fyke.language.ast import (
    Between,
    Binary,
    Call,
    Cast,
    Duration,
    Expression,
    In,
    IsNull,
    Like,
    Literal,
    Reference,
    Timestamp,
    Unary,
    walk,
)
from fyke.logical.check_operators import COMPARISONS
from fyke.logical.kinds import FUNCTIONS, NUMERIC, TEMPORAL, Kind, kind_of
from fyke.logical.regular_expressions import JAVA, translated
from fyke.logical.value_types import (
    MOST_DIGITS,
    OF_ONE_TYPE,
    arithmetic_type,
    as_decimal,
    call_type,
    cast_type,
    wide,
)
from fyke.spark.sql_parts import (
    ARITHMETIC,
    Part,
    as_type,
    duration,
    identifier,
    literal,
    null,
    of_one_zone,
    quote,
    shifted,
    text_literal,
    timestamp,
    type_name,
    wide_sql,
)

__all__ = ["FORBIDDEN", "identifier", "quote", "rejected_sql", "text_literal", "timed_sql", "to_sql"]

# Functions that a query must not reach: they run code, make more rows, or have a new value at every call.
FORBIDDEN = frozenset(
    {
        *("reflect", "try_reflect", "java_method"),
        *("rand", "randn", "random", "randstr", "uniform", "uuid", "shuffle"),
        *("monotonically_increasing_id", "spark_partition_id"),
        *("input_file_name", "input_file_block_start", "input_file_block_length"),
        *("window", "session_window"),
    }
)
_RENAMED = {"size": "array_size"}  # size(NULL) is -1 without ANSI mode
_INT32 = (-(2**31), 2**31 - 1)
_CASED = ("upper", "lower")
_EXACT_DIGITS = 34  # of a decimal that Spark negates
_LONGEST = 2_000_000  # characters: some operands are written more than once


def to_sql(node: Expression, columns: Mapping[str, pa.DataType]) -> str:
    """Return the Spark SQL of an expression over one row with these columns.

    Raises
    ------
    QueryTooLargeError
        If it would be very long.
    """
    return _part(node, columns).sql


def _part(node: Expression, columns: Mapping[str, pa.DataType]) -> Part:
    def part(child: Expression) -> Part:
        return _part(child, columns)

    if isinstance(node, Literal):
        return literal(node)
    if isinstance(node, Duration):
        return duration(node.nanoseconds)
    if isinstance(node, Timestamp):
        return timestamp(parse_timestamp(node.text))
    if isinstance(node, Reference):
        return Part(".".join(map(identifier, node.path)), _type_at(node.path, columns))
    if isinstance(node, Unary):
        made = _unary(node.operator, part(node.operand))
    elif isinstance(node, Binary):
        made = _binary(node.operator, part(node.left), part(node.right))
    elif isinstance(node, Cast):
        made = _cast(part(node.operand), cast_type(node.type))
    elif isinstance(node, Call):
        made = _call(node, [part(argument) for argument in node.arguments])
    else:
        assert isinstance(node, (In, Between, Like, IsNull))
        made = Part(_predicate(node, part), pa.bool_())
    if len(made.sql) > _LONGEST:
        raise QueryTooLargeError(
            "an expression would take more than two million characters of Spark SQL",
            place=node.place,
            remedy="Nest fewer functions in one another, or compute a part of it as a column first.",
        )
    return made


def _type_at(path: tuple[str, ...], columns: Mapping[str, pa.DataType]) -> pa.DataType | None:
    arrow = columns.get(path[0])
    for name in path[1:]:
        if arrow is None:
            return None
        arrow = arrow.field(name).type
    return arrow


# --- operators --------------------------------------------------------------------------


def _unary(operator: str, operand: Part) -> Part:
    if operator == "NOT":
        return Part(f"(NOT {as_type(operand, pa.bool_())})", pa.bool_())
    kind = None if operand.type is None else wide(operand.type)
    if operand.kind is Kind.NULL:
        return operand
    if operand.kind is Kind.DURATION:
        return Part(f"try_multiply({operand.sql}, -1L)", kind)
    if operand.kind is Kind.DECIMAL:
        return Part(_signed(operand, "concat('-', {})", "--", f"(- {operand.sql})"), kind)
    if operand.kind is Kind.FLOAT:
        return Part(f"(- {wide_sql(operand)})", kind)
    return Part(f"try_subtract(0L, {wide_sql(operand)})", kind)


def _signed(number: Part, written: str, sign: str, plain: str) -> str:
    """Return a decimal with another sign: ``plain``, or by its digits where Spark would round them."""
    assert number.type is not None
    if number.type.precision <= _EXACT_DIGITS:
        return plain
    digits = f"CAST({number.sql} AS STRING)"
    return f"CAST(replace({written.format(digits)}, '{sign}', '') AS {type_name(as_decimal(number.type))})"


def _binary(operator: str, left: Part, right: Part) -> Part:
    if operator in ("AND", "OR"):
        return Part(f"({as_type(left, pa.bool_())} {operator} {as_type(right, pa.bool_())})", pa.bool_())
    if operator in COMPARISONS:
        return Part(_comparison(operator, left, right), pa.bool_())
    return _arithmetic(operator, left, right)


def _comparison(operator: str, left: Part, right: Part) -> str:
    if Kind.NULL in (left.kind, right.kind):
        return null(pa.bool_()).sql
    left, right = of_one_zone([left, right])
    if _digits([left, right]) <= MOST_DIGITS:
        # Spark would answer for an integer and a decimal that is too large as it does for null.
        mixed = {left.kind, right.kind} == {Kind.INTEGER, Kind.DECIMAL}
        one, other = (_as_decimal(each) if mixed else each.sql for each in (left, right))
        return f"({one} {operator} {other})"
    # Spark would round one of them: the digits before and behind the point are compared one by one.
    (whole, rest), (other_whole, other_rest) = _halves(left), _halves(right)
    if operator in ("=", "!="):
        joined = f"({whole} = {other_whole} AND {rest} = {other_rest})"
        return joined if operator == "=" else f"(NOT {joined})"
    return f"if({whole} = {other_whole}, {rest} {operator} {other_rest}, {whole} {operator} {other_whole})"


def _digits(parts: Sequence[Part]) -> int:
    """Return how many digits it takes to hold all of several decimals; 0 if they are none."""
    kinds = [part.type for part in parts if part.kind in (Kind.DECIMAL, Kind.INTEGER)]
    if len(kinds) < len(parts) or not any(part.kind is Kind.DECIMAL for part in parts):
        return 0
    decimals = [as_decimal(kind) for kind in kinds]
    return int(max(each.precision - each.scale for each in decimals) + max(each.scale for each in decimals))


def _as_decimal(part: Part) -> str:
    assert part.type is not None
    return as_type(part, as_decimal(part.type))


def _halves(part: Part) -> tuple[str, str]:
    number = _as_decimal(part)
    rest = f"({number} % 1BD)"
    return f"CAST({number} - {rest} AS DECIMAL({MOST_DIGITS}, 0))", rest


def _arithmetic(operator: str, left: Part, right: Part) -> Part:
    function = ARITHMETIC[operator]
    if left.type is None or right.type is None:
        if left.kind in TEMPORAL or right.kind in TEMPORAL:
            return shifted(operator, left, right)
        return Part(f"{function}({wide_sql(left)}, {wide_sql(right)})", None)
    kind = arithmetic_type(operator, left.type, right.type)
    if Kind.NULL in (left.kind, right.kind):
        return null(kind)
    if left.kind in TEMPORAL or right.kind in TEMPORAL:
        return shifted(operator, left, right)
    if pa.types.is_duration(kind):
        if left.kind in NUMERIC:
            left, right = right, left
        number = right.sql if right.kind is Kind.DURATION else wide_sql(right)
        return Part(f"{function}({left.sql}, {number})", kind)
    kinds = [as_decimal(each) if pa.types.is_decimal(kind) else kind for each in (left.type, right.type)]
    sides = [as_type(part, each) for part, each in zip((left, right), kinds, strict=True)]
    if pa.types.is_integer(kind) and operator in "+*":
        # Spark would add up the literals of a sum first, and another part of it might not fit then.
        pairs = zip(sides, (left, right), strict=True)
        sides = [f"({sql} | 0L)" if part.operator == operator else sql for sql, part in pairs]
    if pa.types.is_decimal(kind) and operator == "%":
        return Part(_remainder(sides, kinds), kind)
    return Part(f"{function}({', '.join(sides)})", kind, operator=operator)


def _remainder(sides: list[str], kinds: list[pa.DataType]) -> str:
    """Return the remainder of decimals; Spark raises where the whole quotient has more than 38 digits."""
    left, right = sides
    scale = kinds[1].scale
    if kinds[0].precision - kinds[0].scale + scale <= MOST_DIGITS:
        return f"try_mod({left}, {right})"
    # That by a multiple of the divisor first: its digits without the point.
    whole = f"CAST(concat(CAST({right} AS STRING), 'E{scale}') AS DECIMAL({MOST_DIGITS}, 0))"
    return f"try_mod(try_mod({left}, {whole}), {right})"


# --- functions and predicates -----------------------------------------------------------


def _call(node: Call, arguments: list[Part]) -> Part:
    function = node.function
    if function not in FUNCTIONS:
        return _foreign(function, arguments)
    kinds = [each.type for each in arguments if each.type is not None]
    if len(kinds) < len(arguments):
        return _left_to_spark(function, arguments)
    kind = call_type(node, kinds)
    if function in ("nullif", *OF_ONE_TYPE):
        return _chosen(function, arguments, kind)
    if any(map(pa.types.is_null, kinds)):
        return null(kind)
    if function == "mod":
        return _arithmetic("%", *arguments)
    if function == "abs":
        value = wide_sql(arguments[0])
        if pa.types.is_decimal(kind):
            return Part(_signed(arguments[0], "{}", "-", f"abs({value})"), kind)
        # Spark's abs raises for the smallest integer.
        return Part(f"abs({f'nullif({value}, {-(2**63)}L)' if pa.types.is_int64(kind) else value})", kind)
    if function in ("floor", "ceil", "round"):
        return _rounded(function, arguments, kind)
    inner = (each.function for each in walk(node.arguments[0]) if isinstance(each, Call))
    if function in _CASED and any(each in _CASED for each in inner):
        # Spark takes lower(upper(x)) for lower(x), which it is not.
        return Part(f"{function}(substring({arguments[0].sql}, 1))", kind)
    if function == "element_at":
        listed, place = arguments
        number = f"nullif(TRY_CAST({wide_sql(place)} AS INT), 0)"
        return Part(f"try_element_at({listed.sql}, {number})", kind)
    if function == "rlike":
        assert isinstance(node.arguments[1], Literal)
        pattern = text_literal(translated(str(node.arguments[1].value), JAVA))
        return Part(f"({arguments[0].sql} RLIKE {pattern})", kind)
    if function == "substring":
        text, *places = arguments
        return Part(f"substring({', '.join([text.sql, *map(_place, places)])})", kind)
    return _plain_call(function, arguments, kind)


def _plain_call(function: str, arguments: list[Part], kind: pa.DataType) -> Part:
    numbers = pa.types.is_float64(kind)
    written = [as_type(each, pa.float64()) if numbers else each.sql for each in arguments]
    sql = f"{_RENAMED.get(function, function)}({', '.join(written)})"
    return Part(f"CAST({sql} AS BIGINT)" if pa.types.is_int64(kind) else sql, kind)


def _foreign(function: str, arguments: list[Part]) -> Part:
    """Return a call of a function that only Spark knows, with whole numbers as Spark would read them."""
    written = [
        str(each.literal) if each.literal is not None and _INT32[0] <= each.literal <= _INT32[1] else each.sql
        for each in arguments
    ]
    plain = re.fullmatch(r"[a-z_][a-z0-9_]*", function) is not None
    return Part(f"{function if plain else identifier(function)}({', '.join(written)})", None)


def _left_to_spark(function: str, arguments: list[Part]) -> Part:
    """Return a call of a function of the language on something of which only Spark knows the type."""
    if function == "mod":
        return _arithmetic("%", *arguments)
    made = _foreign(_RENAMED.get(function, function), of_one_zone(arguments))
    result = FUNCTIONS[function].result
    return Part(f"CAST({made.sql} AS BIGINT)", pa.int64()) if result is Kind.INTEGER else made


def _chosen(function: str, arguments: list[Part], kind: pa.DataType) -> Part:
    """Return one of several values, which all have the type of the result."""
    tests = arguments[: OF_ONE_TYPE.get(function, 0)]
    values = arguments[len(tests) :]
    if pa.types.is_null(kind):
        return null(kind)
    if function == "nullif":
        return Part(f"if({_comparison('=', *values)}, NULL, {values[0].sql})", kind)
    if kind_of(kind) in TEMPORAL:
        values = of_one_zone(values)
        kinds = {value.type for value in values if value.kind is not Kind.NULL}
        kind = kinds.pop() if len(kinds) == 1 else pa.timestamp("us")
    written = [as_type(each, pa.bool_()) for each in tests]
    written += [null(kind).sql if each.kind is Kind.NULL else as_type(each, kind) for each in values]
    if len(written) == 1:
        return Part(written[0], kind)
    return Part(f"{function}({', '.join(written)})", kind)


def _rounded(function: str, arguments: list[Part], kind: pa.DataType) -> Part:
    """Return floor, ceil or round; what does not fit into 64 bits saturates (floats) or is null."""
    value = arguments[0]
    digits = arguments[1].literal or 0 if len(arguments) > 1 else 0
    if value.kind is Kind.INTEGER:
        if digits >= 0:
            return Part(as_type(value, kind), kind)
        return Part(f"TRY_CAST(round({as_type(value, as_decimal(kind))}, {digits}) AS BIGINT)", kind)
    if function == "round":
        exact = value.kind is Kind.DECIMAL
        sql = _rounded_decimal(value, digits, kind) if exact else f"round({wide_sql(value)}, {digits})"
        return Part(sql, kind)
    if value.kind is Kind.DECIMAL:
        return Part(f"TRY_CAST({function}({value.sql}) AS BIGINT)", kind)
    number = wide_sql(value)
    cases = f"WHEN isnan({number}) THEN 0L WHEN {number} >= {2.0**63}D THEN {2**63 - 1}L "
    cases += f"WHEN {number} < {-(2.0**63)}D THEN {-(2**63)}L ELSE {function}({number})"
    return Part(f"CASE {cases} END", kind)


def _rounded_decimal(value: Part, digits: int, kind: pa.DataType) -> str:
    """Return a decimal rounded half up; Spark's round raises where the result has a digit too much."""
    assert value.type is not None
    if digits >= 0:
        return f"TRY_CAST({value.sql} AS {type_name(kind)})"
    if value.type.precision < MOST_DIGITS:
        return f"round({value.sql}, {digits})"
    step, half = (f"{base}{'0' * (-digits - shift)}BD" for base, shift in ((1, 0), (5, 1)))
    rest = f"({value.sql} % {step})"
    away = f"CASE WHEN {rest} >= {half} THEN {step} WHEN {rest} <= -{half} THEN -{step} ELSE 0BD END"
    return f"TRY_CAST(try_add(try_subtract({value.sql}, {rest}), {away}) AS {type_name(kind)})"


def _place(part: Part) -> str:
    """Return a place in a text as Spark wants it; one too far away is as far as there is."""
    if part.literal is not None:
        return str(max(-_INT32[1], min(part.literal, _INT32[1])))
    number = wide_sql(part)
    beyond = f"if({number} > 0L, {_INT32[1]}, if({number} < 0L, {-_INT32[1]}, NULL))"
    return f"coalesce(nullif(TRY_CAST({number} AS INT), {_INT32[0]}), {beyond})"


def _predicate(node: In | Between | Like | IsNull, part: Callable[[Expression], Part]) -> str:
    operand, negation = part(node.operand), "NOT " if node.negated else ""
    if isinstance(node, IsNull):
        return f"({operand.sql} IS {negation}NULL)"
    if isinstance(node, Like):
        assert isinstance(node.pattern, Literal)
        text = as_type(operand, pa.string()) if operand.kind is Kind.NULL else operand.sql
        return f"({text} {negation}LIKE {text_literal(_like_pattern(str(node.pattern.value)))})"
    if isinstance(node, Between):
        low, high = _comparison(">=", operand, part(node.low)), _comparison("<=", operand, part(node.high))
        return f"({negation}({low} AND {high}))"
    return f"({negation}{_is_in(operand, [part(option) for option in node.options])})"


def _is_in(operand: Part, options: list[Part]) -> str:
    same = {operand.kind} >= {option.kind for option in options} and _digits(
        [operand, *options]
    ) <= MOST_DIGITS
    if same and operand.kind is not None:
        operand, *options = of_one_zone([operand, *options])
        return f"({operand.sql} IN ({', '.join(each.sql for each in options)}))"
    return f"({' OR '.join(_comparison('=', operand, option) for option in options)})"


# Spark reads more texts as numbers than these, and other Unicode blanks around them.
_BLANKS = r"[ \t\r\n]*"
_TEXTS = {
    Kind.INTEGER: "[+-]?[0-9]+",
    Kind.FLOAT: r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,6})?",
    Kind.DECIMAL: r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,6})?",
    Kind.BOOLEAN: "(?i:t|true|y|yes|1|f|false|n|no|0)",
}


def _cast(operand: Part, kind: pa.DataType) -> Part:
    """Return a value in another type; null where it has none."""
    target = kind_of(kind)
    if pa.types.is_float32(kind) and operand.type != kind:
        return Part(f"CAST({_cast(operand, pa.float64()).sql} AS FLOAT)", kind)  # rounded twice, as anywhere
    if operand.type is None:
        return Part(f"TRY_CAST({operand.sql} AS {type_name(kind)})", kind)
    if operand.kind is Kind.NULL:
        return null(kind)
    if operand.kind is target is Kind.TIMESTAMP:
        return operand
    if operand.kind is Kind.STRING and target in _TEXTS:
        known = text_literal(rf"\A{_BLANKS}{_TEXTS[target]}{_BLANKS}\z")
        return Part(
            f"CASE WHEN {operand.sql} RLIKE {known} THEN TRY_CAST({operand.sql} AS {type_name(kind)}) END",
            kind,
        )
    if operand.kind in NUMERIC and target is Kind.BOOLEAN:
        return Part(f"({operand.sql} <> 0)", kind)
    if operand.kind is Kind.DECIMAL and target is Kind.INTEGER:
        # Narrower integers Spark makes of a decimal by way of a float.
        return Part(f"TRY_CAST(TRY_CAST({operand.sql} AS BIGINT) AS {type_name(kind)})", kind)
    if operand.kind is Kind.FLOAT and target in (Kind.INTEGER, Kind.DECIMAL):
        return Part(f"TRY_CAST({wide_sql(operand)} AS {type_name(kind)})", kind)
    return Part(f"TRY_CAST({operand.sql} AS {type_name(kind)})", kind)


def _like_pattern(pattern: str) -> str:
    r"""Return a LIKE pattern with backslashes before ``%``, ``_`` and backslashes only, as Spark wants it."""

    def escaped(token: re.Match[str]) -> str:
        char = token[0][-1]
        return token[0] if len(token[0]) == 2 and char in "%_\\" else "\\\\" if char == "\\" else char

    return re.sub(r"\\.|\\$", escaped, pattern, flags=re.DOTALL)


def timed_sql(time: tuple[str, str]) -> str:
    """Return the condition on rows that have a time; a lasting event must not end before it starts."""
    start, end = (identifier(name) for name in time)
    return f"{end} IS NOT NULL" if start == end else f"{start} <= {end}"


def rejected_sql(time: tuple[str, str]) -> str:
    """Return the condition on rows that have no time."""
    return f"NOT coalesce({timed_sql(time)}, FALSE)"
