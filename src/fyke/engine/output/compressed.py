"""Matches as shared graphs in Arrow ([N] 4.2), and back to one row per match.

A row holds all matches that end with the same event: the partition attributes, ``end``, the number of
``matches`` (null if it does not fit 64 bits), ``query`` (what identifiers begin with), ``last`` (the
nodes at which a match ends) and ``nodes``.  A node names the nodes ``previous`` to it; a match is a
way from a last node to one without previous, read backwards.  Its event is in the field of its variable
(``b[]`` for a group); a node without an event joins histories.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from fyke.engine.found import Found
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import NUMBER, Array
from fyke.engine.kernels.automaton.graphs import EVENT, GRAPH_SIZE, ONE, OTHER, VARIABLE, next_matches
from fyke.engine.kernels.output.bindings import find_bound, list_bound
from fyke.engine.matchset import MatchSet
from fyke.engine.output.graphs import GraphSet, concat_graphs
from fyke.engine.output.identity import event_hashes, fold_ids, query_seed
from fyke.engine.output.rows import ResultBuilder, as_time, event_structs, take_rows
from fyke.errors import InputError
from fyke.logical.returns import END, HASH, LAST, MATCH_ID, MATCHES, NODES, PREVIOUS, QUERY, START
from fyke.plan.plan import Plan

_GROUP = "[]"
_FIXED = (END, MATCHES, QUERY, LAST, NODES)
_CHUNK = 1 << 14


class CompressedBuilder:
    """Builds the rows of ``output="compressed"`` for one plan; ``schema`` is that of :meth:`rows`."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        plain = ResultBuilder(plan)
        self.variables = plain.variables
        columns = plan.schema.columns
        nothing = pa.table({name: pa.array([], columns[name]) for name in plan.needed})
        self.schema: pa.Schema = self._rows(
            concat_graphs([]), nothing, np.zeros((L.EVENT_SIZE, 0), np.int64)
        ).schema

    def rows(self, found: Found) -> pa.Table:
        """Return one row per event that ends matches."""
        assert found.graphs is not None
        rows = self._rows(found.graphs, found.rows, found.events)
        return rows if rows.schema.equals(self.schema) else rows.cast(self.schema)

    def finish(self, rows: pa.Table) -> pa.Table:
        """Return the rows as they are: nothing is aggregated."""
        return rows

    def _rows(self, graphs: GraphSet, rows: pa.Table, events: Array) -> pa.Table:
        schema, kinds = self.plan.schema, self.plan.schema.columns
        columns: dict[str, pa.Array] = {}
        for name in self.plan.partition:
            columns[name] = take_rows(rows, name, graphs.ends, kinds)
        ends = events[L.EVENT_END][graphs.ends]
        columns[END] = as_time(ends, rows.schema.field(schema.end).type)
        columns[MATCHES] = pa.array(graphs.counts, mask=graphs.counts < 0)
        seed = query_seed(self.plan.fingerprint).tobytes()
        columns[QUERY] = pa.array([seed] * len(graphs), pa.binary())
        columns[LAST] = _lists(graphs.last_ends, pa.array(graphs.lasts.astype(np.int32)))
        columns[NODES] = _lists(graphs.node_ends, self._nodes(graphs, rows, events))
        return pa.Table.from_arrays(list(columns.values()), names=list(columns))

    def _nodes(self, graphs: GraphSet, rows: pa.Table, events: Array) -> pa.Array:
        schema = self.plan.schema
        at = graphs.nodes[:, EVENT]
        bound = at >= 0
        hashes = np.zeros((len(at), 2), np.uint64)
        hashes[bound] = event_hashes(at[bound], rows, self.plan.needed, events)
        fields = {
            PREVIOUS: _previous(graphs.nodes),
            START: _times_at(events[L.EVENT_START], at, rows.schema.field(schema.start).type),
            HASH: _words(hashes),
        }
        for number, (name, spec) in enumerate(self.variables.items()):
            mine = np.where(graphs.nodes[:, VARIABLE] == number, at, -1)
            fields[name + _GROUP * spec.group] = event_structs(rows, spec, mine, schema)
        return pa.StructArray.from_arrays(list(fields.values()), names=list(fields))


def _lists(ends: Array, values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(np.concatenate(([0], ends)).astype(np.int32)), values)


def _previous(nodes: Array) -> pa.Array:
    """Return the predecessors of each node: none, one or two."""
    links = nodes[:, (ONE, OTHER)]
    return _lists(np.cumsum((links >= 0).sum(axis=1)), pa.array(links[links >= 0].astype(np.int32)))


def _times_at(ticks: Array, at: Array, kind: pa.DataType) -> pa.Array:
    values = np.zeros(len(at), np.int64)
    values[at >= 0] = ticks[at[at >= 0]]
    return as_time(values, kind, mask=at < 0)


def _words(hashes: Array) -> pa.Array:
    """Return pairs of words as 16 bytes each."""
    offsets = np.arange(0, 16 * (len(hashes) + 1), 16, dtype=np.int32)
    data = pa.py_buffer(np.ascontiguousarray(hashes))
    return pa.BinaryArray.from_buffers(pa.binary(), len(hashes), [None, pa.py_buffer(offsets), data])


# --- back to matches ------------------------------------------------------------------------


def check_compressed(schema: pa.Schema) -> None:
    """Raise unless a schema is that of ``output="compressed"``."""
    missing = [name for name in _FIXED if name not in schema.names]
    if missing:
        raise InputError(
            f"the result is not compressed: it has no column {missing[0]!r}",
            remedy='Give what fyke.match(..., output="compressed") has returned.',
        )


def enumerated_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of the matches in a compressed result."""
    check_compressed(schema)
    node = schema.field(NODES).type.value_type
    fields = [pa.field(MATCH_ID, pa.string())]
    fields += [field for field in schema if field.name not in _FIXED]
    fields += [pa.field(START, node.field(START).type), schema.field(END)]
    for k in range(node.num_fields):
        name, kind = node.field(k).name, node.field(k).type
        if name not in (PREVIOUS, START, HASH):
            group = name.endswith(_GROUP)
            fields.append(pa.field(name.removesuffix(_GROUP), pa.list_(kind) if group else kind))
    return pa.schema(fields)


def enumerate_batch(batch: pa.RecordBatch, rows: int = _CHUNK) -> Iterator[pa.RecordBatch]:
    """Yield the matches of a compressed batch, at most ``rows`` at a time, as ``output="all"`` has them."""
    if batch.num_rows == 0:
        return
    reader = _Reader(batch)
    yield from reader.read(rows)


class _Reader:
    """The graphs of a batch as arrays, read match by match."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = pa.RecordBatch.from_arrays(
            [pa.concat_arrays([column]) for column in batch.columns], names=batch.schema.names
        )
        nodes = self.batch.column(NODES).flatten()
        self.fields = {nodes.type.field(k).name: nodes.field(k) for k in range(nodes.type.num_fields)}
        self.variables = [name for name in self.fields if name not in (PREVIOUS, START, HASH)]
        self.node_ends = _ends(self.batch.column(NODES))
        self.lasts = self.batch.column(LAST).flatten().to_numpy().astype(np.int64)
        self.last_ends = _ends(self.batch.column(LAST))
        self.row = np.repeat(np.arange(batch.num_rows), np.diff(np.concatenate(([0], self.node_ends))))
        self.nodes = self._graph(len(nodes))
        self.hashes = np.frombuffer(b"".join(self.fields[HASH].to_pylist()), np.uint64).reshape(-1, 2).copy()
        self.seed = np.frombuffer(self.batch.column(QUERY)[0].as_py(), np.uint64).copy()

    def _graph(self, count: int) -> Array:
        nodes = np.full((count, GRAPH_SIZE), -1, np.int64)
        for number, name in enumerate(self.variables):
            nodes[self.fields[name].is_valid().to_numpy(zero_copy_only=False), VARIABLE] = number
        nodes[:, EVENT] = np.where(nodes[:, VARIABLE] >= 0, np.arange(count), -1)
        previous = self.fields[PREVIOUS]
        links = previous.flatten().to_numpy().astype(np.int64)
        ends = _ends(previous)
        begins = np.concatenate(([0], ends[:-1])).astype(np.int64)
        nodes[ends > begins, ONE] = links[begins[ends > begins]]
        nodes[ends > begins + 1, OTHER] = links[begins[ends > begins + 1] + 1]
        return nodes

    def read(self, rows: int) -> Iterator[pa.RecordBatch]:
        """Yield batches of at most ``rows`` matches."""
        place = np.zeros(3, np.int64)
        longest = int(np.diff(np.concatenate(([0], self.node_ends))).max(initial=0)) + 1
        stack = np.zeros((longest + 1, 2), np.int64)
        bindings = np.empty((max(8 * rows, longest), 2), np.int64)
        offsets = np.zeros(rows + 1, np.int64)
        while True:
            found = next_matches(
                self.nodes, self.node_ends, self.lasts, self.last_ends, place, stack, bindings, offsets
            )
            if found == 0:
                return
            used = bindings[: offsets[found]]
            alternative = np.zeros(found, NUMBER)
            pairs = used[:, 0].copy(), used[:, 1].astype(NUMBER)
            yield self._rows(MatchSet(*pairs, offsets[: found + 1].copy(), alternative))

    def _rows(self, matches: MatchSet) -> pa.RecordBatch:
        positions, offsets = matches.positions, matches.offsets
        row = self.row[matches.first]
        columns: dict[str, pa.Array] = {
            MATCH_ID: fold_ids(matches, np.arange(len(self.nodes)), self.hashes, self.seed)
        }
        for name in self.batch.schema.names:
            if name not in _FIXED:
                columns[name] = self.batch.column(name).take(pa.array(row))
        starts = self.fields[START]
        ticks = starts.cast(pa.int32() if pa.types.is_date32(starts.type) else pa.int64())
        known = ticks.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        first = np.minimum.reduceat(known[positions], offsets[:-1])
        columns[START] = as_time(first, starts.type)
        columns[END] = self.batch.column(END).take(pa.array(row))
        for number, name in enumerate(self.variables):
            columns[name.removesuffix(_GROUP)] = self._events(matches, number, name)
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    def _events(self, matches: MatchSet, number: int, name: str) -> pa.Array:
        structs = self.fields[name]
        if not name.endswith(_GROUP):
            at = np.empty(len(matches), np.int64)
            find_bound(matches.offsets, matches.positions, matches.variables, number, False, at)
            return structs.take(pa.array(at, mask=at < 0))
        ends = np.zeros(len(matches) + 1, np.int64)
        positions = np.empty(len(matches.positions), np.int64)
        found = list_bound(matches.offsets, matches.positions, matches.variables, number, ends, positions)
        positions = positions[:found]
        unbound = ends[1:] == ends[:-1]
        mask = pa.array(unbound) if bool(unbound.any()) else None
        taken = structs.take(pa.array(positions))
        return pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), taken, mask=mask)


def _ends(lists: pa.Array) -> Array:
    return np.cumsum(lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)).astype(np.int64)
