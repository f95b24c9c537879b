"""Prepared rows to buckets: one message per bucket of partitions, task and micro-batch.

Spark's stateful operator calls Python key by key.  A key here is a bucket of many partitions, and all its
rows of a task travel as one message in Arrow's format, so that a micro-batch costs a call per bucket and not
one per partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from fyke.engine.partition_state import part_of_rows

BUCKET, MESSAGE = "bucket", "message"
PACKED = f"{BUCKET} int, {MESSAGE} binary"
_SCHEMA = pa.schema([(BUCKET, pa.int32()), (MESSAGE, pa.binary())])
# Every core has a task of its own: Arrow's threads would only wait for one another.
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
_READING = pa.ipc.IpcReadOptions(use_threads=False)

_greeted: set[tuple[str, str]] = set()  # runs and operators whose buckets a task of this process has called
_RUN = "spark.jobGroup.id"  # of a micro-batch: which run of a query it belongs to


def pack_rows(
    schema: pa.Schema, split: Sequence[str], buckets: int, operator: str | None = None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that makes messages of the rows of a task; columns are those of ``schema``.

    For an ``operator`` that keeps state, the first rows that a process packs in a run of the query come with
    an empty message to each bucket.  So after a start the first micro-batch with rows looks at all that is
    stored, and state of another query is refused before anything is written.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        named = [batch.rename_columns(schema.names) for batch in batches if batch.num_rows]
        if named and operator is not None and (greeted := (_run(), operator)) not in _greeted:
            _greeted.add(greeted)
            for bucket in range(buckets):
                yield packed_batch(bucket, schema.empty_table())
        if named:
            rows = pa.Table.from_batches(named).cast(schema)
            for bucket, part in _parts(rows, split, buckets):
                yield packed_batch(bucket, part)

    return run


def _run() -> str:
    """Return which run of a query this task belongs to: a frame may be started again and again."""
    context = TaskContext.get()
    return (context and context.getLocalProperty(_RUN)) or ""


def packed_batch(bucket: int, rows: pa.Table) -> pa.RecordBatch:
    """Return rows as one message for a bucket."""
    columns = [pa.array([bucket], pa.int32()), pa.array([to_bytes(rows)], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def _parts(rows: pa.Table, split: Sequence[str], buckets: int) -> Iterator[tuple[int, pa.Table]]:
    """Yield the rows of each bucket; without attributes that divide them there is one."""
    if not split or buckets == 1:
        yield 0, rows
        return
    part_of = part_of_rows(rows, split, buckets)
    order = np.argsort(part_of, kind="stable")
    sorted_rows, bounds = rows.take(pa.array(order)), np.searchsorted(part_of[order], np.arange(buckets + 1))
    for bucket in range(buckets):
        begin, end = int(bounds[bucket]), int(bounds[bucket + 1])
        if begin < end:
            yield bucket, sorted_rows.slice(begin, end - begin)


def to_bytes(table: pa.Table) -> bytes:
    """Return a table as bytes in Arrow's format."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_OPTIONS) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def from_bytes(messages: Iterable[bytes], schema: pa.Schema) -> pa.Table:
    """Return the rows of several messages as one table."""
    tables = [pa.ipc.open_stream(message, options=_READING).read_all() for message in messages]
    return pa.concat_tables([schema.empty_table(), *tables])
