"""Matches as shared graphs in Arrow ([N] 4.2); ``enumerated.py`` reads them.

A row holds all matches that end with the same event: the partition attributes, ``end``, the number of
``matches`` (null if it does not fit 64 bits), ``query`` (what identifiers begin with), ``last`` (the
nodes at which a match ends) and ``nodes``.  A node names the nodes ``previous`` to it; a match is a
way from a last node to one without previous, read backwards.  Its event is in the field of its variable
(``b[]`` for a group); a node without an event joins histories.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fyke.engine.found import Found
from fyke.engine.kernels import layout as L
from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.automaton.graphs import EVENT, ONE, OTHER, VARIABLE
from fyke.engine.output.graphs import GraphSet, concat_graphs
from fyke.engine.output.identity import event_hashes, query_seed
from fyke.engine.output.rows import ResultBuilder, as_time, event_structs, take_rows
from fyke.logical.returns import END, HASH, LAST, MATCHES, NODES, PREVIOUS, QUERY, START
from fyke.plan.plan import Plan

GROUP = "[]"


class CompressedBuilder:
    """Builds the rows of ``output="compressed"`` for one plan; ``schema`` is that of :meth:`rows`."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        plain = ResultBuilder(plan)
        self.variables = plain.variables
        columns = plan.schema.columns
        nothing = pa.schema([(name, columns[name]) for name in plan.needed]).empty_table()
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
        apart = tuple(name for name in self.plan.split if name not in self.plan.needed)
        hashes[bound] = event_hashes(at[bound], rows, self.plan.needed, events, apart)
        fields = {
            PREVIOUS: _previous(graphs.nodes),
            START: _times_at(events[L.EVENT_START], at, rows.schema.field(schema.start).type),
            HASH: _words(hashes),
        }
        for number, (name, spec) in enumerate(self.variables.items()):
            mine = np.where(graphs.nodes[:, VARIABLE] == number, at, -1)
            fields[name + GROUP * spec.group] = event_structs(rows, spec, mine, schema)
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
