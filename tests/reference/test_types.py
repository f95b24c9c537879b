"""Types of result columns: the rules of docs/results.md in the reference, and what the engine returns."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import fyke
from fyke import reference
from fyke.language.ast import walk
from fyke.logical.check import over_matches
from tests.random.results import difference

NOON = datetime.datetime(2026, 1, 31, 12)
NUMBERS: dict[str, pa.DataType] = {
    "i8": pa.int8(),
    "i32": pa.int32(),
    "i64": pa.int64(),
    "u8": pa.uint8(),
    "u32": pa.uint32(),
    "u64": pa.uint64(),
    "f32": pa.float32(),
    "f64": pa.float64(),
    "money": pa.decimal128(9, 2),
    "fine": pa.decimal128(12, 5),
}
TEXTS: dict[str, pa.DataType] = {
    "text": pa.string(),
    "long": pa.large_string(),
    "coded": pa.dictionary(pa.int32(), pa.string()),
}
INSTANTS: dict[str, pa.DataType] = {
    "ns": pa.timestamp("ns"),
    "us": pa.timestamp("us"),
    "s": pa.timestamp("s"),
    "zoned": pa.timestamp("ms", "Europe/Berlin"),
    "day": pa.date32(),
}
LENGTHS: dict[str, pa.DataType] = {
    "dns": pa.duration("ns"),
    "dus": pa.duration("us"),
    "ds": pa.duration("s"),
}
ODD: dict[str, pa.DataType] = {
    "truth": pa.bool_(),
    "half": pa.float16(),
    "view": pa.string_view(),
    "bytes": pa.binary_view(),
    "day64": pa.date64(),
    "list": pa.list_(pa.float64()),
    "struct": pa.struct([("x", pa.int32()), ("day", pa.date64())]),
}
_SAMPLES = {
    **dict.fromkeys(TEXTS, "x"),
    **dict.fromkeys(INSTANTS, NOON),
    **dict.fromkeys(LENGTHS, datetime.timedelta(1)),
    "day": NOON.date(),
    "truth": True,
    "half": 1.0,
    "view": "x",
    "bytes": b"x",
    "day64": NOON.date(),
    "list": [1.0],
    "struct": {"x": 1, "day": NOON.date()},
    "money": Decimal("1.50"),
    "fine": Decimal("1.50"),
}
COLUMNS = {**NUMBERS, **TEXTS, **INSTANTS, **LENGTHS, **ODD}
EVENTS = pa.table(
    {
        "kind": ["A", "B"],
        "t": [1, 2],
        **{name: pa.array([_SAMPLES.get(name, 1)] * 2, kind) for name, kind in COLUMNS.items()},
    }
)


def items() -> Iterator[str]:
    """Yield items of RETURN: operators and functions over attributes of every type."""
    for left, right in itertools.product(NUMBERS, repeat=2):
        yield from (f"a.{left} {operator} a.{right}" for operator in "+-*/%")
        yield from (f"{name}(a.{left}, a.{right})" for name in ("least", "greatest", "mod", "pow", "nullif"))
        yield f"if(a.truth, a.{left}, a.{right})"
    for one in NUMBERS:
        yield from (f"{name}(a.{one})" for name in ("abs", "sign", "sqrt", "floor", "ceil", "round", "ln"))
        yield from (f"{name}(b[].{one})" for name in ("sum", "avg", "stddev", "min", "max", "count"))
        yield from (f"{name}(a.{one})" for name in ("sum", "avg", "stddev", "min", "max", "count"))
        yield f"coalesce(a.{one}, a.{one}, a.{one})" if one != "f32" else "coalesce(a.f32, a.f64)"
    for left, right in itertools.product(TEXTS, repeat=2):
        yield f"if(a.truth, a.{left}, a.{right})"
    for one in TEXTS:
        yield from (f"{name}(a.{one})" for name in ("upper", "lower", "trim", "length"))
        yield from (f"substring(a.{one}, 1, 2)", f"concat(a.{one}, 'x')", f"startswith(a.{one}, 'x')")
        yield from (f"a.{one} LIKE 'x%'", f"a.{one} IN ('x', 'y')", f"min(b[].{one})", f"max(a.{one})")
    for left, right in itertools.product(INSTANTS, repeat=2):
        yield from (f"a.{left} - a.{right}", f"if(a.truth, a.{left}, a.{right})", f"a.{left} < a.{right}")
    for left, right in itertools.product(INSTANTS, LENGTHS):
        yield from (f"a.{left} + a.{right}", f"a.{left} - a.{right}", f"a.{right} + a.{left}")
    for left, right in itertools.product(LENGTHS, repeat=2):
        yield from (f"a.{left} + a.{right}", f"a.{left} - a.{right}", f"if(a.truth, a.{left}, a.{right})")
    for left, right in itertools.product(LENGTHS, ("i32", "f64")):
        yield from (f"a.{left} * a.{right}", f"a.{left} / a.{right}", f"a.{right} * a.{left}")
    yield from (f"{name}(a.{one})" for one in INSTANTS for name in ("year", "hour", "min", "max"))
    yield from ("-a.i8", "-a.i64", "-a.f32", "-a.money", "-a.ds", "NOT a.truth", "a.i8 IS NULL")
    yield from ("NULL", "1", "9223372036854775808", "1.5", "'x'", "TRUE", "5 minutes", "5 ns")
    yield from (
        "TIMESTAMP '2026-01-01'",
        "DATE '2026-01-01'",
        "a.i32 + NULL",
        "NULL * a.money",
        "a.i8 = NULL",
    )
    yield from ("a.struct.x", "b[1].struct.day", "first(b[].list)", "last(b[].struct)", "b[b.len].view")
    yield from ("b.len", "size(a.list)", "corr(a.list, a.list)", "count(*)", "count(*) + 1", "sum(a.i32) / 2")
    yield from (f"least(a.{one}, NULL)" for one in INSTANTS)
    yield from (
        "b[].i32",
        "b[2].i32",
        "b[1]",
        "median(b[].i32)",
        "count(DISTINCT b[].i8)",
        "element_at(a.list, 1)",
    )
    yield from ("avg(sum(b[].i32))", "max(b.len)", "a", "b", "twice(a.i8)", "round(a.money, 1)")
    yield from (f"a.{name}" for name in COLUMNS)


ITEMS = list(dict.fromkeys(items()))


def _over_matches(item: str) -> bool:
    (only,) = fyke.parse(f"PATTERN SEQ(A a, B+ b[]) RETURN {item}").returns or ()
    return any(over_matches(node) for node in walk(only.expression))  # type: ignore[arg-type]


OVER = [item for item in ITEMS if _over_matches(item)]
OPTIONS: dict[str, Any] = {"time": "t", "type": "kind", "functions": {"twice": lambda x: x + x}}


@pytest.mark.parametrize("group", range(8))
@pytest.mark.parametrize("rows", [0, 2])
def test_types_and_values_of_items(rows: int, group: int) -> None:
    """Many are asked for in one query; those over matches stand apart."""
    mine = ITEMS[group::8]
    for some in ([item for item in mine if item not in OVER], [item for item in mine if item in OVER]):
        returned = ", ".join(f"{item} AS r{k}" for k, item in enumerate(some))
        query = f"PATTERN SEQ(A a, B+ b[]) WITHIN 9 RETURN {returned}"
        found = fyke.match(EVENTS.slice(0, rows), query, **OPTIONS)
        expected = reference.match(EVENTS.slice(0, rows), query, **OPTIONS)
        wrong = {
            item: kinds
            for k, item in enumerate(some)
            if len(set(kinds := [each.schema.field(f"r{k}").type for each in (found, expected)])) > 1
        }
        assert wrong == {}
        differing = difference(found, expected)
        assert differing is None, differing
