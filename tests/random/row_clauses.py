"""Random MATCH_RECOGNIZE clauses with small tables: every operator, skip, output form and kind of expression.

``row_case(seed)`` is always the same case, so that a failure is named by its number.  Tables have a column
``g`` to partition by, ``i`` and ``t`` that order rows without ties, and values with nulls in ``x`` (whole),
``y`` (float), ``d`` (decimal) and ``s`` (text).
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa

import fyke
from fyke.language.ast import Call, Expression, Navigation, Seen, walk
from fyke.language.row_patterns import (
    Anchor,
    Quantified,
    RowPattern,
    RowPatternQuery,
    SkipTo,
    quantifier_text,
    row_pattern_parts,
)

VARIABLES = ("A", "B", "C", "D")
_QUANTIFIERS = ("*", "+", "?", "{2}", "{1,}", "{,2}", "{1,3}", "{2,4}")
_SKIPS = ("PAST LAST ROW", "TO NEXT ROW")
_FORMS = (
    "ONE ROW PER MATCH",
    "ALL ROWS PER MATCH",
    "ALL ROWS PER MATCH SHOW EMPTY MATCHES",
    "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
    "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
    "ALL MATCHES",
)


@dataclass(frozen=True, slots=True)
class RowCase:
    """A clause and the rows it is for."""

    seed: int
    table: pa.Table
    clause: str

    @property
    def query(self) -> RowPatternQuery:
        query = fyke.parse(self.clause)
        assert isinstance(query, RowPatternQuery)
        return query


def row_case(seed: int) -> RowCase:
    """Return the case of a number."""
    maker = _Maker(random.Random(seed))
    clause = maker.clause()
    return RowCase(seed, maker.table(), clause)


def windowed(clause: str, draw: random.Random) -> str:
    """Return a clause whose attempts expire, and that does not tell all rows anyway."""
    clause = clause.replace("WITH UNMATCHED ROWS", "OMIT EMPTY MATCHES")
    if "WITHIN" in clause:
        return clause
    kind = "" if re.search(r"ORDER BY i", clause) else " minutes"
    return re.sub(r"(?m)^( *PATTERN .*)$", rf"\1 WITHIN {draw.choice((1, 2, 4, 8))}{kind}", clause)


class _Maker:
    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.loops = 0  # unbounded ones: a naive search tries all ways to share rows among them
        self.form = draw.choice(_FORMS)
        self.used: list[str] = []

    def table(self) -> pa.Table:
        draw = self.draw
        most = 6 if self.form == "ALL MATCHES" or self.loops > 2 else 8 if self.loops == 2 else 14
        count = draw.randint(3, most)
        groups = draw.choice(([None], ["p", "q"], ["p", "p", "p", None]))
        order = draw.sample(range(2 * count), count)
        return pa.table(
            {
                "g": pa.array([draw.choice(groups) for _ in range(count)], pa.string()),
                "i": pa.array(order, pa.int64()),
                "t": pa.array([each * 60 + draw.randint(0, 30) for each in order], pa.timestamp("s")),
                "x": pa.array([draw.choice((None, 0, 1, 2, 3, 4, 5, 6)) for _ in range(count)], pa.int64()),
                "y": pa.array([draw.choice((None, 0.0, 0.5, 1.5, -2.0)) for _ in range(count)], pa.float64()),
                "d": pa.array(
                    [
                        draw.choice((None, Decimal("0.10"), Decimal("2.50"), Decimal("-1.00")))
                        for _ in range(count)
                    ],
                    pa.decimal128(8, 2),
                ),
                "s": pa.array([draw.choice((None, "a", "ab", "b", "c")) for _ in range(count)], pa.string()),
            }
        )

    def clause(self) -> str:
        draw = self.draw
        pattern = self.pattern(draw.randint(1, 3))
        if not self.used:
            pattern = f"{self.variable()} {pattern}"
        present = list(dict.fromkeys(self.used))
        subsets = {}
        if draw.random() < 0.4:
            subsets["U"] = draw.sample(present, draw.randint(1, len(present)))
        names = [*present, *subsets]
        defined = draw.sample(present, draw.randint(1, len(present)))
        parts = [
            draw.choice(("", "PARTITION BY g", "PARTITION BY g")),
            "ORDER BY " + draw.choice(("i", "i DESC", "t", "t", "t DESC NULLS FIRST, i")),
            "MEASURES " + ", ".join(self.measures(names)),
            self.form,
            "" if self.form == "ALL MATCHES" else self.skip(names),
            f"PATTERN ({pattern})",
        ]
        if "ORDER BY t" in parts[1] and draw.random() < 0.5:
            parts.append(f"WITHIN {draw.choice((2, 4, 8))} minutes")
        elif draw.random() < 0.3 and "ORDER BY i" in parts[1]:
            parts.append(f"WITHIN {draw.choice((2, 4, 8))}")
        if subsets:
            parts.append("SUBSET U = (" + ", ".join(subsets["U"]) + ")")
        conditions = ", ".join(f"{name} AS {self.condition(name, names)}" for name in defined)
        parts.append(f"DEFINE {conditions}")
        return "MATCH_RECOGNIZE (\n  " + "\n  ".join(part for part in parts if part) + "\n)"

    # --- patterns -------------------------------------------------------------------------------

    def variable(self) -> str:
        self.used.append(self.draw.choice(VARIABLES))
        return self.used[-1]

    def pattern(self, depth: int) -> str:
        draw = self.draw
        kinds = ["variable"] * 3 + (["sequence"] * 4 + ["choice"] * 2 + ["permute", "odd"] if depth else [])
        kind = draw.choice(kinds)
        if kind == "variable":
            return self.quantified(self.variable())
        if kind == "sequence":
            return " ".join(self.pattern(depth - 1) for _ in range(draw.randint(2, 3)))
        if kind == "choice":
            parts = [self.pattern(depth - 1) for _ in range(draw.randint(2, 3))]
            return self.quantified("(" + " | ".join(parts) + ")")
        if kind == "permute":
            return "PERMUTE(" + ", ".join(self.pattern(0) for _ in range(draw.randint(2, 3))) + ")"
        odd = draw.choice(("()", "^", "$", "group", "exclusion", "exclusion"))
        if odd == "group":
            return self.quantified("(" + self.pattern(depth - 1) + ")")
        if odd == "exclusion" and "UNMATCHED" not in self.form:
            return "{- " + self.pattern(depth - 1) + " -}"
        if odd == "()":
            return f"({self.variable()} | ())"
        variable = self.variable()
        return {"^": f"^ {variable}", "$": f"{variable} $"}.get(odd, variable)

    def quantified(self, part: str) -> str:
        draw = self.draw
        if draw.random() < 0.5 or (part[0] == "(" and self.loops > 2):
            return part
        quantifier = draw.choice(_QUANTIFIERS)
        self.loops += (quantifier[-1] in "*+" or quantifier == "{1,}") * (2 if part[0] == "(" else 1)
        return part + quantifier + ("?" if draw.random() < 0.35 else "")

    def skip(self, names: list[str]) -> str:
        draw = self.draw
        if draw.random() < 0.3:
            return ""
        if draw.random() < 0.6:
            return f"AFTER MATCH SKIP {draw.choice(_SKIPS)}"
        return f"AFTER MATCH SKIP TO {draw.choice(('', 'FIRST ', 'LAST '))}{draw.choice(names)}"

    # --- expressions ----------------------------------------------------------------------------

    def condition(self, own: str, names: list[str]) -> str:
        draw = self.draw
        if draw.random() < 0.2:
            joined = draw.choice((" AND ", " OR "))
            return joined.join(f"({self.simple(own, names)})" for _ in range(2))
        return self.simple(own, names)

    def simple(self, own: str, names: list[str]) -> str:
        draw, other = self.draw, self.draw.choice(names)
        number, column = draw.randint(0, 5), draw.choice("xyxd")
        return draw.choice(
            (
                f"x > {number - 2}",
                f"x <= {number}",
                f"{own}.{column} >= {number / 2}",
                f"s = '{draw.choice('abc')}'",
                "s LIKE 'a%'",
                f"x IN ({number}, {number - 1}, 0)",
                f"x IS NULL OR x BETWEEN 0 AND {number}",
                f"NOT x = {number}",
                f"CASE WHEN s = 'a' THEN x > 1 ELSE y <= {number} END",
                f"{column} > PREV({column})",
                f"{column} < PREV({own}.{column})",
                "x <= NEXT(x)",
                f"coalesce(PREV(x, 2), 0) <= x + {number}",
                "PREV(s) = s OR NEXT(s, 2) IS NULL",
                f"PREV(x + 1, 0) > {number - 2}",
                f"x >= {other}.x",
                f"coalesce(x >= {other}.x, TRUE)",
                f"{column} >= FIRST({column})",
                f"coalesce({other}.{column}, 0) <= LAST({own}.{column})",
                f"LAST({own}.x, 1) IS NULL OR {own}.x > LAST({own}.x, 1)",
                f"coalesce(FIRST({other}.x, 1), 3) > {number - 1}",
                f"coalesce(PREV(LAST({other}.x), 1), 0) < {number}",
                f"NEXT(FIRST({other}.x), 2) IS NOT NULL",
                f"count(*) <= {number + 1}",
                f"count({other}.*) < {number}",
                f"sum({own}.x) < {2 * number + 2}",
                f"x >= avg({other}.x) OR {other}.x IS NULL",
                f"max({column}) - min({column}) < {number}",
                f"coalesce(RUNNING sum({other}.d), 0) < {number}.25",
                f"coalesce(LAST(CLASSIFIER(), 1), '{own}') = '{draw.choice(VARIABLES)}'",
                f"coalesce(CLASSIFIER({other}), 'A') <> 'C'",
                "coalesce(PREV(CLASSIFIER()), 'B') = 'B'",
            )
        )

    def measures(self, names: list[str]) -> list[str]:
        draw = self.draw
        made = ["MATCH_NUMBER() AS m", "count(*) AS n", "FIRST(i) AS f", "FINAL LAST(i) AS l"]
        for number in range(draw.randint(0, 4)):
            made.append(f"{self.measure(draw.choice(names))} AS r{number}")
        return made

    def measure(self, name: str) -> str:
        draw, column = self.draw, self.draw.choice("xydsi")
        value = self.draw.choice("xyd")
        seen = draw.choice(("", "", "RUNNING ", "FINAL "))
        return draw.choice(
            (
                column,
                f"{name}.{column}",
                f"{seen}LAST({name}.{column}, {draw.randint(0, 2)})",
                f"{seen}FIRST({column}, {draw.randint(0, 2)})",
                f"PREV({column}, {draw.randint(0, 2)})",
                f"NEXT({name}.{column})",
                f"PREV({seen}LAST({name}.{column}, 1), 2)",
                f"NEXT(FIRST({name}.{column}))",
                f"{seen}{draw.choice(('sum', 'avg', 'stddev', 'median'))}({name}.{value})",
                f"{seen}{draw.choice(('min', 'max', 'count', 'array_agg'))}({name}.{column})",
                f"{seen}count({name}.*)",
                f"{seen}array_agg(CLASSIFIER())",
                "CLASSIFIER()",
                f"CLASSIFIER({name})",
                "PREV(CLASSIFIER())",
                "NEXT(CLASSIFIER())",
                f"{name}.x - FIRST(x) + MATCH_NUMBER()",
                f"coalesce({name}.{value}, 0) * 2",
                f"{seen}sum({name}.x * {name}.x)",
                "FINAL LAST(t) - FIRST(t)",
            )
        )


def features(case: RowCase) -> Iterator[str]:
    """Yield what a case has of the language."""
    query = case.query
    yield query.rows.value
    yield f"SKIP {query.skip.to.value}"
    if query.skip.variable is not None:
        yield "SKIP TO SUBSET" if query.skip.variable == "U" else "SKIP TO variable"
    yield "WITHIN" if query.window is not None else "no window"
    yield from (name for name, has in (("SUBSET", query.subsets), ("PARTITION BY", query.partition)) if has)
    for part in row_pattern_parts(query.pattern):
        yield from _pattern_features(part)
    for definition in query.define:
        yield from (f"DEFINE {each}" for each in _features(definition.condition))
    for measure in query.measures:
        yield from (f"MEASURES {each}" for each in _features(measure.expression))


def _pattern_features(part: RowPattern) -> Iterator[str]:
    yield type(part).__name__
    if isinstance(part, Quantified):
        yield f"{quantifier_text(part.minimum, part.maximum)}{'' if part.greedy else '?'}"
    if isinstance(part, Anchor):
        yield "^" if part.start else "$"


def _features(expression: Expression) -> Iterator[str]:
    for node in walk(expression):
        if isinstance(node, Navigation):
            yield (
                f"{node.function} of {node.operand.function}"
                if isinstance(node.operand, Navigation)
                else node.function
            )
        elif isinstance(node, Call):
            yield node.function
        elif isinstance(node, Seen):
            yield "FINAL" if node.final else "RUNNING"


SEEN = {
    *(form.removesuffix(" SHOW EMPTY MATCHES") for form in _FORMS),
    *(f"SKIP {to.value}" for to in SkipTo),
    *("SKIP TO SUBSET", "SKIP TO variable", "WITHIN", "no window", "SUBSET", "PARTITION BY"),
    *("Variable", "Empty", "^", "$", "Concatenation", "Alternation", "Excluded", "Permutation"),
    *(f"{sign}{mark}" for sign in ("*", "+", "?", "{2}", "{,2}", "{1,3}", "{2,4}") for mark in ("", "?")),
    *(f"DEFINE {name}" for name in ("PREV", "NEXT", "FIRST", "LAST", "PREV of LAST", "NEXT of FIRST")),
    *(f"DEFINE {name}" for name in ("count", "sum", "avg", "min", "max", "classifier", "RUNNING")),
    *(f"MEASURES {name}" for name in ("PREV", "NEXT", "FIRST", "LAST", "NEXT of FIRST")),
    *(f"MEASURES {name}" for name in ("count", "sum", "avg", "min", "max", "stddev", "median", "array_agg")),
    *(f"MEASURES {name}" for name in ("classifier", "match_number", "RUNNING", "FINAL")),
}
"""What enough cases must have between them."""
