"""Random expressions over one event, of every operator and function, and a table of odd values.

Expressions are made kind by kind, so that all are legal.  ``exp`` and the like, of which no two libraries
agree on the last digit, stand where nothing but a comparison of results within rounding looks at them.
"""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa

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
)

UTC = datetime.timezone.utc
MOMENTS = [
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
    datetime.datetime(1970, 1, 1, tzinfo=UTC),
    datetime.datetime(2026, 1, 31, 12, 30, 15, 5, UTC),
    datetime.datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC),
    datetime.datetime(1600, 3, 1, 6, tzinfo=UTC),
    datetime.datetime(9990, 12, 31, 18, 0, 1, tzinfo=UTC),
    None,
]
TEXTS = [
    "",
    "a",
    "straße",
    "STRASSE",
    "İstanbul",
    "ΑΣ ΟΔΟΣ",
    "ﬁx Ǆ",
    "  blank ",
    "100%_\\sure\n",
    "ä€𝄞z",
    "12",
    " -7 ",
    "1e3",
    "+1.50",
    ".5",
    "yes",
    "NaN",
    "99999999999999999999",
    None,
]
_ODD = (math.nan, math.inf, -math.inf)
NUMBERS = {
    "i8": [0, 1, -1, 127, -128, None],
    "i32": [0, 3, -7, 2**31 - 1, -(2**31), None],
    "i": [0, 1, -1, 5, 10**11, 2**53 + 1, 2**63 - 1, -(2**63), None],
    "f": [
        0.0,
        -0.0,
        1.0,
        0.1,
        -2.5,
        1.005,
        2.675,
        1e16,
        1e300,
        -1e300,
        5e-324,
        math.nan,
        math.inf,
        -math.inf,
        None,
    ],
    "f32": [0.0, 0.1, -1.5, 3e38, math.nan, -math.inf, None],
    "d5": ["0.00", "0.10", "0.30", "-0.05", "9.95", "999.99", "-999.99", None],
    "d18": ["0", "1.005", "-123456789.123456", "999999999999.999999", "0.000001", None],
    "d38": ["0", "1.5", "-2.000000000000000001", "99999999999999999999.999999999999999999", "0.333333", None],
    "whole": ["0", "7", "-3", "9" * 38, "-" + "9" * 38, "12345678901234567890", None],
    "tiny": ["0", "0." + "1" * 38, "-0." + "9" * 38, "0.5", None],
}
_TYPES = {
    "i8": pa.int8(),
    "i32": pa.int32(),
    "i": pa.int64(),
    "f": pa.float64(),
    "f32": pa.float32(),
    "d5": pa.decimal128(5, 2),
    "d18": pa.decimal128(18, 6),
    "d38": pa.decimal128(38, 18),
    "whole": pa.decimal128(38, 0),
    "tiny": pa.decimal128(38, 38),
}
_SPANS = [0, 1, -1, 3_600_000_000, 86_400_000_000 * 30, 5_000_001, None]


def odd_table(rows: int, seed: int) -> pa.Table:
    """Return a table of odd values of every kind; ``id`` numbers the rows."""
    chance = random.Random(seed)
    columns: dict[str, pa.Array] = {"id": pa.array(range(rows))}
    for name, values in NUMBERS.items():
        chosen = [chance.choice(values) for _ in range(rows)]
        exact = [Decimal(each) if isinstance(each, str) else each for each in chosen]
        columns[name] = pa.array(exact, _TYPES[name])
    for name in ("s", "other"):
        columns[name] = pa.array([chance.choice(TEXTS) for _ in range(rows)])
    for name in ("b", "c"):
        columns[name] = pa.array([chance.choice([True, False, None]) for _ in range(rows)])
    moments = [[chance.choice(MOMENTS) for _ in range(rows)] for _ in range(3)]
    columns["ts"] = pa.array(moments[0], pa.timestamp("us", "UTC"))
    columns["local"] = pa.array([m and m.replace(tzinfo=None) for m in moments[1]], pa.timestamp("us"))
    columns["day"] = pa.array([m and m.date() for m in moments[2]])
    columns["span"] = pa.array([chance.choice(_SPANS) for _ in range(rows)], pa.duration("us"))
    columns["list"] = pa.array(
        [chance.choice([[], [1], [1, None, 3], None]) for _ in range(rows)], pa.list_(pa.int64())
    )
    return pa.table(columns)


Maker = Callable[[int], Expression]


class Expressions:
    """Makes random expressions over the variable ``a`` bound to a row of :func:`odd_table`."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.makers: dict[str, tuple[Maker, ...]] = {
            "integer": (self._whole_arithmetic, self._whole_function, self._chosen("integer")),
            "float": (self._float_arithmetic, self._float_function, self._chosen("float")),
            "decimal": (self._decimal_arithmetic, self._decimal_function, self._chosen("decimal")),
            "string": (self._text, self._chosen("string")),
            "boolean": (self._comparison, self._predicate, self._logic, self._chosen("boolean")),
            "time": (self._moved, self._chosen("time")),
            "duration": (self._elapsed, self._chosen("duration")),
        }

    def any(self, depth: int = 3) -> Expression:
        """Return an expression of any kind."""
        if self.chance.random() < 0.06:
            name = self.chance.choice(("exp", "ln", "log10", "log2", "pow"))
            arguments = [self.number(1) for _ in range(2 if name == "pow" else 1)]
            return Call(name, tuple(arguments))
        return self.make(self.chance.choice(tuple(self.makers)), depth)

    def make(self, kind: str, depth: int) -> Expression:
        """Return an expression of a kind."""
        if depth <= 0 or self.chance.random() < 0.15:
            return self._leaf(kind)
        return self.chance.choice(self.makers[kind])(depth - 1)

    def number(self, depth: int) -> Expression:
        return self.make(self.chance.choice(("integer", "float", "decimal")), depth)

    # --- leaves

    def _leaf(self, kind: str) -> Expression:
        draw = self.chance.random()
        if draw < 0.07:
            return Literal(None)
        if draw < 0.3 and kind != "duration":
            return self._literal(kind)
        names = {
            "integer": ("i8", "i32", "i"),
            "float": ("f", "f32"),
            "decimal": ("d5", "d5", "d18", "d38", "whole", "tiny"),
            "string": ("s", "other"),
            "boolean": ("b", "c"),
            "time": ("ts", "local", "day"),
            "duration": ("span",),
        }[kind]
        return Reference("a", (self.chance.choice(names),))

    def _literal(self, kind: str) -> Expression:
        choices: dict[str, list[Expression]] = {
            "integer": [Literal(n) for n in (0, 1, -2, 3, 10, 2**31, 2**63 - 1)],
            "float": [Literal(n) for n in (0.0, 0.5, -1.25, 0.1, 1e10, 1e300)],
            "decimal": [Literal(10**19), Literal(-(10**37))],
            "string": [Literal(text) for text in ("", "a", "ß", "1", "Σ", "%")],
            "boolean": [Literal(True), Literal(False)],
            "time": [Timestamp("2026-01-31 12:30:15"), Timestamp("1969-12-31T23:00:00-02:00")],
        }
        return self.chance.choice(choices[kind])

    # --- numbers

    def _whole_arithmetic(self, depth: int) -> Expression:
        if self.chance.random() < 0.15:
            return Unary("-", self.make("integer", depth))
        operator = self.chance.choice("+-*%")
        return Binary(operator, self.make("integer", depth), self.make("integer", depth))

    def _whole_function(self, depth: int) -> Expression:
        names = ("abs", "mod", "round", "floor", "ceil", "length", "size", "element", "part", "cast")
        name = self.chance.choice(names)
        if name == "abs":
            return Call("abs", (self.make("integer", depth),))
        if name == "mod":
            return Call("mod", (self.make("integer", depth), self.make("integer", depth)))
        if name == "round":
            return Call("round", (self.make("integer", depth), *self._digits()))
        if name in ("floor", "ceil"):
            return Call(name, (self.number(depth),))
        if name == "length":
            return Call("length", (self.make("string", depth),))
        if name == "size":
            return Call("size", (Reference("a", ("list",)),))
        if name == "element":
            place = Literal(self.chance.choice((1, 2, 3, -1, -2, 0, 2**40)))
            chosen = self.make("integer", depth - 1) if self.chance.random() < 0.3 else place
            return Call("element_at", (Reference("a", ("list",)), chosen))
        if name == "part":
            part = self.chance.choice(("year", "month", "day", "hour", "minute", "second"))
            return Call(part, (self.make("time", depth),))
        target = self.chance.choice(("TINYINT", "SMALLINT", "INT", "BIGINT"))
        return Cast(self._castable(depth), target)

    def _digits(self) -> tuple[Expression, ...]:
        return (
            (Literal(self.chance.choice((-37, -20, -3, -1, 0, 1, 2, 5, 17))),)
            if self.chance.random() < 0.8
            else ()
        )

    def _castable(self, depth: int) -> Expression:
        return self.make(self.chance.choice(("integer", "float", "decimal", "string", "boolean")), depth)

    def _float_arithmetic(self, depth: int) -> Expression:
        draw = self.chance.random()
        if draw < 0.15:
            return Unary("-", self.make("float", depth))
        if draw < 0.35:
            return Binary("/", self.make("integer", depth), self.make("integer", depth))
        sides = [self.make("float", depth), self.number(depth)]
        self.chance.shuffle(sides)
        return Binary(self.chance.choice("+-*/%"), *sides)

    def _float_function(self, depth: int) -> Expression:
        name = self.chance.choice(("abs", "sign", "sqrt", "round", "mod", "cast"))
        if name in ("sign", "sqrt"):
            return Call(name, (self.number(depth),))
        if name == "abs":
            return Call("abs", (self.make("float", depth),))
        if name == "round":
            return Call("round", (self.make("float", depth), *self._digits()))
        if name == "mod":
            return Call("mod", (self.make("float", depth), self.number(depth)))
        return Cast(self._castable(depth), self.chance.choice(("DOUBLE", "FLOAT")))

    def _decimal_arithmetic(self, depth: int) -> Expression:
        if self.chance.random() < 0.15:
            return Unary("-", self.make("decimal", depth))
        sides = [self.make("decimal", depth), self.make(self.chance.choice(("decimal", "integer")), depth)]
        if self.chance.random() < 0.2:
            sides = [Reference("a", ("d18",)), Literal(self.chance.choice((3, 0.1, 1.5, 100)))]
        self.chance.shuffle(sides)
        return Binary(self.chance.choice("+-*/%"), *sides)

    def _decimal_function(self, depth: int) -> Expression:
        name = self.chance.choice(("abs", "round", "mod", "cast"))
        if name == "abs":
            return Call("abs", (self.make("decimal", depth),))
        if name == "round":
            return Call("round", (self.make("decimal", depth), *self._digits()))
        if name == "mod":
            return Call("mod", (self.make("decimal", depth), self.make("decimal", depth)))
        digits = self.chance.choice(("5, 2", "18, 6", "38, 10", "38, 0", "20, 20"))
        # Of floats only those of the table: Java before 19 prints some others with a digit too much.
        kind = self.chance.choice(("integer", "float", "decimal", "string", "boolean"))
        return Cast(self.make(kind, 0 if kind == "float" else depth), f"DECIMAL({digits})")

    # --- one of several

    def _chosen(self, kind: str) -> Maker:
        def chosen(depth: int) -> Expression:
            kinds = ("integer", "float", "decimal") if kind == "float" else (kind,)
            kinds = ("integer", "decimal") if kind == "decimal" and self.chance.random() < 0.3 else kinds
            name = self.chance.choice(("coalesce", "if", "least", "greatest", "nullif"))
            count = {"if": 2, "nullif": 2}.get(name, self.chance.choice((2, 3)))
            values = [self.make(self.chance.choice(kinds), depth) for _ in range(count)]
            values[self.chance.randrange(1 if name == "nullif" else count)] = self.make(kind, depth)
            tests = [self.make("boolean", depth)] if name == "if" else []
            return Call(name, (*tests, *values))

        return chosen

    # --- texts

    def _text(self, depth: int) -> Expression:
        name = self.chance.choice(("upper", "lower", "trim", "substring", "concat", "cast"))
        if name == "substring":
            places: list[Expression] = []
            for _ in range(self.chance.choice((1, 2))):
                number = Literal(self.chance.choice((-(2**40), -3, -1, 0, 1, 2, 5, 2**31, 2**40)))
                places.append(self.make("integer", depth - 1) if self.chance.random() < 0.3 else number)
            return Call("substring", (self.make("string", depth), *places))
        if name == "concat":
            return Call(
                "concat", tuple(self.make("string", depth) for _ in range(self.chance.choice((1, 2, 3))))
            )
        if name == "cast":
            kind = self.chance.choice(("integer", "decimal", "boolean", "string"))
            return Cast(
                Reference("a", ("day",)) if self.chance.random() < 0.2 else self.make(kind, depth), "STRING"
            )
        return Call(name, (self.make("string", depth),))

    # --- truth

    def _comparison(self, depth: int) -> Expression:
        operator = self.chance.choice(("=", "!=", "<", "<=", ">", ">="))
        return Binary(operator, *self._alike(2, depth))

    def _alike(self, count: int, depth: int) -> list[Expression]:
        """Return expressions that can be compared."""
        kind = self.chance.choice(("number", "number", "number", "string", "boolean", "time", "duration"))
        return [self.number(depth) if kind == "number" else self.make(kind, depth) for _ in range(count)]

    def _predicate(self, depth: int) -> Expression:
        negated = self.chance.random() < 0.4
        name = self.chance.choice(("in", "between", "like", "rlike", "null", "part", "cast"))
        if name == "in":
            operand, *options = self._alike(self.chance.choice((2, 3, 4)), depth)
            return In(operand, tuple(options), negated)
        if name == "between":
            return Between(*self._alike(3, depth), negated)
        if name == "like":
            patterns = ("%", "_", "a%", "%ß%", "100\\%\\_\\\\%", "\\a%", "%\n", "", "S_R%", "__")
            return Like(self.make("string", depth), Literal(self.chance.choice(patterns)), negated)
        if name == "rlike":
            patterns = ("", "^$", "^.", ".$", r"\d+", r"^\W", r"\s$", "[ß-é]", "(a|ß)?s*E$", "^[^ ]{2,}$")
            return Call("rlike", (self.make("string", depth), Literal(self.chance.choice(patterns))))
        if name == "null":
            return IsNull(self.make(self.chance.choice(tuple(self.makers)), depth), negated)
        if name == "part":
            function = self.chance.choice(("startswith", "endswith", "contains"))
            return Call(function, (self.make("string", depth), self.make("string", depth)))
        return Cast(self._castable(depth), "BOOLEAN")

    def _logic(self, depth: int) -> Expression:
        if self.chance.random() < 0.3:
            return Unary("NOT", self.make("boolean", depth))
        return Binary(
            self.chance.choice(("AND", "OR")), self.make("boolean", depth), self.make("boolean", depth)
        )

    # --- times

    def _moved(self, depth: int) -> Expression:
        if self.chance.random() < 0.2:
            return Cast(self.make("time", depth), "DATE")
        time, span = Reference("a", (self.chance.choice(("ts", "local", "day")),)), self._short(depth)
        if self.chance.random() < 0.3:
            return Binary("+", span, time)
        return Binary(self.chance.choice("+-"), time, span)

    def _short(self, depth: int) -> Expression:
        """Return a duration that moves no time out of the years that Python knows."""
        hours = Duration(self.chance.choice((0, 1_000, 3_600 * 10**9, -90 * 60 * 10**9, 86_400 * 10**9 * 40)))
        return Reference("a", ("span",)) if self.chance.random() < 0.5 else hours

    def _elapsed(self, depth: int) -> Expression:
        draw = self.chance.random()
        if draw < 0.1:
            return Unary("-", self.make("duration", depth))
        if draw < 0.4:
            return Binary(
                "-", *(Reference("a", (self.chance.choice(("ts", "local", "day")),)) for _ in range(2))
            )
        if draw < 0.7:
            return Binary(self.chance.choice("+-"), self._short(depth), self._short(depth))
        number = self.chance.choice(
            (Literal(2), Literal(0.5), Literal(0), Literal(-1.5), Reference("a", ("d5",)))
        )
        if self.chance.random() < 0.3:
            number = Reference("a", ("f",))
        if self.chance.random() < 0.3:
            return Binary("*", number, self._short(depth))
        return Binary(self.chance.choice("*/"), self._short(depth), number)
