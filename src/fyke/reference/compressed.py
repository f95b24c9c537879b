"""The naive twin of compressed results: what is certain of them, and their matches read back ([N] 4.2)."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from fyke.logical.analyse import Analysed
from fyke.logical.returns import END, MATCH_ID, START
from fyke.reference.identity import Words, fold, query_words
from fyke.reference.matches import Match

_FIXED = (END, "matches", "query", "last", "nodes")
_OWN = ("previous", START, "hash")


def compressed_rows(found: Sequence[Match], table: pa.Table, analysed: Analysed) -> pa.Table:
    """Return a row for each event with which matches end, without the graph of these.

    ``table`` has the events in processing order.
    """
    schema = analysed.schema
    counts: dict[int, int] = {}
    for each in found:
        last = each.events[-1].position
        counts[last] = counts.get(last, 0) + 1
    at = pa.array(list(counts), pa.int64())
    columns = {name: table.column(name).take(at) for name in analysed.form.partition}
    columns[END] = table.column(schema.end).take(at)
    columns["matches"] = pa.array(list(counts.values()), pa.int64())
    query = struct.pack("<QQ", *query_words(analysed.form.fingerprint))
    columns["query"] = pa.array([query] * len(counts), pa.binary())
    return pa.table(columns)


def enumerate_matches(compressed: pa.Table) -> pa.Table:
    """Return the matches of a compressed result, one row each, by walking every way through its graphs."""
    node = compressed.schema.field("nodes").type.value_type
    partition = [name for name in compressed.column_names if name not in _FIXED]
    variables = [field.name for field in node if field.name not in _OWN]
    fields = [pa.field(MATCH_ID, pa.string()), *(compressed.schema.field(name) for name in partition)]
    fields += [pa.field(START, node.field(START).type), compressed.schema.field(END)]
    fields += [_variable_field(node.field(name)) for name in variables]
    rows: list[dict[str, Any]] = []
    for k in range(compressed.num_rows):
        row = {name: compressed.column(name)[k] for name in compressed.column_names}
        fixed = {name: row[name] for name in (*partition, END)}
        seed = struct.unpack("<QQ", row["query"].as_py())
        rows += [fixed | _match(way, variables, seed) for way in _ways(row["last"], row["nodes"])]
    return pa.table(
        [pa.array([row[field.name] for row in rows], field.type) for field in fields], pa.schema(fields)
    )


def _variable_field(field: pa.Field) -> pa.Field:
    if field.name.endswith("[]"):
        return pa.field(field.name.removesuffix("[]"), pa.list_(field.type))
    return field


def _ways(lasts: pa.ListScalar, nodes: pa.ListScalar) -> Iterator[list[pa.StructScalar]]:
    """Yield the nodes of every way from a last node back to one without previous, the first event first."""

    def back(number: int) -> Iterator[list[pa.StructScalar]]:
        node = nodes.values[number]
        before = node["previous"].as_py()
        if not before:
            yield [node]
        for each in before:
            yield from ([*way, node] for way in back(each))

    for last in lasts.as_py():
        yield from back(last)


def _match(way: Sequence[pa.StructScalar], variables: Sequence[str], seed: Words) -> dict[str, Any]:
    """Return the identifier, the start and the variables of a match; a node without an event joins ways."""
    bound: list[tuple[int, pa.StructScalar]] = [
        (number, node) for node in way for number, name in enumerate(variables) if node[name].is_valid
    ]
    words = [(number, struct.unpack("<QQ", node["hash"].as_py())) for number, node in bound]
    starts = [node[START] for _, node in bound]
    row: dict[str, Any] = {MATCH_ID: fold(seed, words), START: min(starts, key=lambda start: start.as_py())}
    for number, name in enumerate(variables):
        events = [node[name] for own, node in bound if own == number]
        row[name.removesuffix("[]")] = (events if name.endswith("[]") else events[0]) if events else None
    return row
