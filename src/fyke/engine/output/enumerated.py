"""Compressed results back to one row per match.

They come from outside, perhaps from a file that was changed: everything that the kernel follows is checked
before it does.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from fyke.engine.kernels.arrays import NUMBER, Array
from fyke.engine.kernels.automaton.graphs import EVENT, GRAPH_SIZE, ONE, OTHER, VARIABLE, next_matches
from fyke.engine.kernels.output.bindings import find_bound, list_bound
from fyke.engine.matchset import MatchSet
from fyke.engine.output.compressed import GROUP
from fyke.engine.output.identity import fold_ids
from fyke.engine.output.rows import as_time
from fyke.errors import InputError
from fyke.logical.returns import END, HASH, LAST, MATCH_ID, MATCHES, NODES, PREVIOUS, QUERY, START

_FIXED = (END, MATCHES, QUERY, LAST, NODES)
_OF_NODES = (PREVIOUS, START, HASH)
_CHUNK = 1 << 14
_HASH_BYTES = 16
_MOST_LINKS = 2


def _refused(why: str) -> InputError:
    return InputError(
        f"the result is not compressed, or it was changed: {why}",
        remedy='Give what fyke.match(..., output="compressed") has returned.',
    )


# --- its schema -------------------------------------------------------------------------------


def check_compressed(schema: pa.Schema) -> None:
    """Raise unless a schema is that of ``output="compressed"``."""
    missing = [name for name in _FIXED if name not in schema.names]
    if missing:
        raise _refused(f"it has no column {missing[0]!r}")
    twice = [name for name in schema.names if schema.names.count(name) > 1]
    if twice:
        raise _refused(f"it has the column {twice[0]!r} twice")
    nodes = schema.field(NODES).type
    if not _is_list(nodes) or not pa.types.is_struct(nodes.value_type):
        raise _refused(f"{NODES!r} must be a list of structs, found {nodes}")
    node = nodes.value_type
    names = [node.field(k).name for k in range(node.num_fields)]
    for name in _OF_NODES:
        if names.count(name) != 1:
            raise _refused(f"its nodes must have one field {name!r}")
    for what, kind in ((LAST, schema.field(LAST).type), (PREVIOUS, node.field(PREVIOUS).type)):
        if not _is_list(kind) or not pa.types.is_integer(kind.value_type):
            raise _refused(f"{what!r} must be a list of integers, found {kind}")
    for what, kind in ((QUERY, schema.field(QUERY).type), (HASH, node.field(HASH).type)):
        if not _is_binary(kind):
            raise _refused(f"{what!r} must be binary, found {kind}")
    for what, kind in ((END, schema.field(END).type), (START, node.field(START).type)):
        if not (pa.types.is_integer(kind) or pa.types.is_temporal(kind)):
            raise _refused(f"{what!r} must be a time, found {kind}")
    variables = [name for name in names if name not in _OF_NODES]
    if not variables or len(set(variables)) < len(variables):
        raise _refused("its nodes must have one field for each variable")


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_binary(kind: pa.DataType) -> bool:
    tests = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(test(kind) for test in tests)


def enumerated_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of the matches in a compressed result."""
    check_compressed(schema)
    node = schema.field(NODES).type.value_type
    fields = [pa.field(MATCH_ID, pa.string())]
    fields += [field for field in schema if field.name not in _FIXED]
    fields += [pa.field(START, node.field(START).type), schema.field(END)]
    for k in range(node.num_fields):
        name, kind = node.field(k).name, node.field(k).type
        if name not in _OF_NODES:
            group = name.endswith(GROUP)
            fields.append(pa.field(name.removesuffix(GROUP), pa.list_(kind) if group else kind))
    return pa.schema(fields)


# --- its rows ---------------------------------------------------------------------------------


def enumerate_batch(batch: pa.RecordBatch, rows: int = _CHUNK) -> Iterator[pa.RecordBatch]:
    """Yield the matches of a compressed batch, at most ``rows`` at a time, as ``output="all"`` has them.

    Raises
    ------
    InputError
        If it is not what ``output="compressed"`` has made.
    """
    queries = batch.column(QUERY).to_pylist()
    begin = 0
    for end in range(1, len(queries) + 1):
        if end == len(queries) or queries[end] != queries[begin]:  # results of several queries, one by one
            yield from _Reader(batch.slice(begin, end - begin)).read(rows)
            begin = end


class _Reader:
    """The graphs of a batch as arrays, read match by match."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = pa.RecordBatch.from_arrays(
            [pa.concat_arrays([column]) for column in batch.columns], names=batch.schema.names
        )
        for name in (QUERY, LAST, NODES):
            _check_no_nulls(self.batch.column(name), f"a row has no {name!r}")
        nodes = self.batch.column(NODES).flatten()
        _check_no_nulls(nodes, "a node is null")
        self.fields = {nodes.type.field(k).name: nodes.field(k) for k in range(nodes.type.num_fields)}
        self.variables = [name for name in self.fields if name not in _OF_NODES]
        self.node_ends = _ends(self.batch.column(NODES))
        lasts = self.batch.column(LAST).flatten()
        _check_no_nulls(lasts, "a number of a node is null")
        self.lasts = lasts.to_numpy().astype(np.int64)
        self.last_ends = _ends(self.batch.column(LAST))
        self.row = np.repeat(np.arange(batch.num_rows), _lengths(self.node_ends))
        self.nodes = self._graph(len(nodes))
        self._check_graph()
        _check_no_nulls(
            self.fields[START].filter(pa.array(self.nodes[:, EVENT] >= 0)), "an event has no start"
        )
        self.hashes = _words(self.fields[HASH], "a hash")
        self.seed = _words(self.batch.column(QUERY).slice(0, 1), repr(QUERY))[0]

    def _graph(self, count: int) -> Array:
        nodes = np.full((count, GRAPH_SIZE), -1, np.int64)
        bound = np.zeros(count, np.int64)
        for number, name in enumerate(self.variables):
            mine = self.fields[name].is_valid().to_numpy(zero_copy_only=False)
            nodes[mine, VARIABLE] = number
            bound += mine
        if bool((bound > 1).any()):
            raise _refused("a node has events of two variables")
        nodes[:, EVENT] = np.where(nodes[:, VARIABLE] >= 0, np.arange(count), -1)
        previous = self.fields[PREVIOUS]
        _check_no_nulls(previous, f"a node has no {PREVIOUS!r}")
        numbers = previous.flatten()
        _check_no_nulls(numbers, "a number of a node is null")
        links = numbers.to_numpy().astype(np.int64)
        ends = _ends(previous)
        if bool((_lengths(ends) > _MOST_LINKS).any()):
            raise _refused(f"a node has more than {_MOST_LINKS} predecessors")
        begins = np.concatenate(([0], ends[:-1])).astype(np.int64)
        nodes[ends > begins, ONE] = links[begins[ends > begins]]
        nodes[ends > begins + 1, OTHER] = links[begins[ends > begins + 1] + 1]
        if bool((nodes[ends > begins, ONE] < 0).any() or (nodes[ends > begins + 1, OTHER] < 0).any()):
            raise _refused("a node has a predecessor that does not exist")
        return nodes

    def _check_graph(self) -> None:
        """Raise unless all numbers are of nodes, no way leads in a circle, and each begins with an event."""
        sizes = _lengths(self.node_ends)
        mine = np.repeat(sizes, _lengths(self.last_ends))
        if bool(((self.lasts < 0) | (self.lasts >= mine)).any()):
            raise _refused(f"{LAST!r} names a node that does not exist")
        place = np.arange(len(self.nodes)) - np.concatenate(([0], self.node_ends))[:-1][self.row]
        up, down = np.zeros(len(sizes), bool), np.zeros(len(sizes), bool)
        for link in (ONE, OTHER):
            to = self.nodes[:, link]
            if bool((to >= sizes[self.row]).any()):
                raise _refused("a node has a predecessor that does not exist")
            linked = to >= 0
            up[self.row[linked & (to >= place)]] = True
            down[self.row[linked & (to <= place)]] = True
        if bool((up & down).any()):  # they are written in one direction or in the other
            raise _refused("its nodes lead in a circle, or are out of order")
        if bool(((self.nodes[:, EVENT] < 0) & (self.nodes[:, ONE] < 0)).any()):
            raise _refused("a node has neither an event nor a predecessor")

    def read(self, rows: int) -> Iterator[pa.RecordBatch]:
        """Yield batches of at most ``rows`` matches."""
        place = np.zeros(3, np.int64)
        longest = int(_lengths(self.node_ends).max(initial=0)) + 1
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
            columns[name.removesuffix(GROUP)] = self._events(matches, number, name)
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    def _events(self, matches: MatchSet, number: int, name: str) -> pa.Array:
        structs = self.fields[name]
        if not name.endswith(GROUP):
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


def _check_no_nulls(values: pa.Array, why: str) -> None:
    if values.null_count:
        raise _refused(why)


def _words(values: pa.Array, what: str) -> Array:
    """Return values of 16 bytes as pairs of words."""
    data = values.to_pylist()
    if any(each is None or len(each) != _HASH_BYTES for each in data):
        raise _refused(f"{what} must have {_HASH_BYTES} bytes")
    return np.frombuffer(b"".join(data), np.uint64).reshape(-1, 2).copy()


def _ends(lists: pa.Array) -> Array:
    return np.cumsum(lists.value_lengths().to_numpy(zero_copy_only=False)).astype(np.int64)


def _lengths(ends: Array) -> Array:
    return np.diff(np.concatenate(([0], ends)))
