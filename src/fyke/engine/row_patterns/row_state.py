"""What is kept of the rows of a clause between two calls of ``advance``; to bytes and back, split and merged.

A state is data: rows with a few marks each.  What belongs to a partition, such as the number of its last
match, stands with its rows, so that states are split and merged row by row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from fyke.engine.kernels.arrays import Array
from fyke.engine.partition_state import part_of_rows
from fyke.engine.state_bytes import (
    BESIDE,
    OpenedState,
    array_of,
    as_row,
    check_identity,
    from_message,
    open_state,
    plain_rows,
    rows_as_given,
    sealed,
    shapes_of,
    to_message,
)
from fyke.errors import StateError
from fyke.plan.row_patterns.plan import RowPlan

ENGINE = "row_patterns"
_PARTS = "pattern, conditions, measures, order or window"
_MARKS = {"read": np.bool_, "done": np.bool_, "covered": np.bool_, "numbers": np.int64}


@dataclass(frozen=True, slots=True)
class RowState:
    """The state of a clause after a batch.

    Attributes
    ----------
    rows
        Rows that are unread, that an undecided attempt may take, or that something may look back at.
    read
        Which of them have been read, in order.
    done
        From which of them no match starts any more: its attempt is decided, or a match has skipped it.
    covered
        Which of them are in a match that was reported.
    numbers
        How many matches the partition of each has had; 0 if nobody asks for them.
    watermark
        Every row up to this time has been read; None before the first batch.
    """

    rows: pa.Table
    read: Array
    done: Array
    covered: Array
    numbers: Array
    watermark: int | None = None

    @property
    def idle(self) -> bool:
        """Whether it holds nothing that matters for a later row, so that it need not be kept."""
        return bool(self.rows.num_rows == 0)

    @property
    def marks(self) -> dict[str, Array]:
        """What is known of each row, by name."""
        return {name: getattr(self, name) for name in _MARKS}

    def taken(self, places: Array) -> RowState:
        """Return the state with some of its rows, in this order."""
        return replace(
            self,
            rows=self.rows.take(pa.array(places)),
            read=self.read[places],
            done=self.done[places],
            covered=self.covered[places],
            numbers=self.numbers[places],
        )


def empty_row_state(schema: pa.Schema) -> RowState:
    """Return the state before the first row."""
    kinds = pa.schema([field.with_nullable(True).remove_metadata() for field in schema])
    return unread(kinds.empty_table())


def unread(rows: pa.Table) -> RowState:
    """Return rows of which nothing is known as a state."""
    nothing = np.zeros(rows.num_rows, bool)
    return RowState(rows, nothing, nothing, nothing, np.zeros(rows.num_rows, np.int64))


def joined(states: Sequence[RowState]) -> RowState:
    """Return the rows of several states as one state, with the latest watermark."""
    watermarks = [state.watermark for state in states if state.watermark is not None]
    marks = {name: np.concatenate([state.marks[name] for state in states]) for name in _MARKS}
    rows = pa.concat_tables([state.rows for state in states])
    return RowState(rows, **marks, watermark=max(watermarks, default=None))


# --- split and merged -----------------------------------------------------------------------------------


def split_row_state(plan: RowPlan, state: RowState, parts: int) -> list[RowState]:
    """Split a state by a hash of the values of PARTITION BY.

    Raises
    ------
    StateError
        If the clause has no PARTITION BY.
    """
    if not plan.analysed.partition:
        raise StateError(
            "the state of this clause cannot be split: it has no PARTITION BY",
            remedy="Keep it whole, or divide the rows with PARTITION BY.",
        )
    part_of = part_of_rows(state.rows, plan.analysed.partition, parts)
    return [state.taken(np.flatnonzero(part_of == part)) for part in range(parts)]


def merge_row_states(states: Sequence[RowState]) -> RowState:
    """Return the states of different partitions as one.

    Raises
    ------
    StateError
        If there is none.
    """
    if not states:
        raise StateError("there are no states to merge", remedy="Begin with RowEngine.start.")
    return joined(states)


# --- bytes ----------------------------------------------------------------------------------------------


def identity_of(plan: RowPlan, schema: pa.Schema) -> dict[str, str]:
    """Return what a state belongs to: the clause in its canonical form, and the columns of its rows."""
    columns = [(field.name, str(field.type)) for field in plain_rows(schema.empty_table()).schema]
    return {
        "query": hashlib.blake2b(str(plan.analysed.query).encode(), digest_size=8).hexdigest(),
        "schema": hashlib.blake2b(repr(columns).encode(), digest_size=8).hexdigest(),
        "engine": ENGINE,
        "output": plan.analysed.rows.value + (" AND TIMEOUTS" if plan.analysed.timeouts else ""),
    }


def encode_row_state(
    plan: RowPlan,
    state: RowState,
    *,
    with_rows: bool = True,
    beside: Mapping[str, Array] | None = None,
    lineage: str = "",
) -> bytes:
    """Return a state as bytes that :func:`decode_row_state` reads with the same plan, in any process.

    Without rows it is the part that every batch changes: see :mod:`fyke.engine.row_patterns.stored_rows`.
    Arrays ``beside`` the state are written with it.  A ``lineage`` tells states apart whose rows are stored
    elsewhere.
    """
    arrays = state.marks | {f"{BESIDE}{name}": array for name, array in (beside or {}).items()}
    rows = plain_rows(state.rows if with_rows else state.rows.slice(0, 0))
    header = {
        **identity_of(plan, state.rows.schema),
        "watermark": state.watermark,
        "rows": state.rows.num_rows,
        "arrays": shapes_of(arrays),
        "notes": {},
        "lineage": lineage,
    }
    return sealed(header, [to_message(rows), to_message(as_row(arrays))])


def check_whose_rows(opened: OpenedState, plan: RowPlan, schema: pa.Schema) -> None:
    """Refuse, with a StateError, a state of another clause or of other columns."""
    check_identity(opened.header, identity_of(plan, schema), _PARTS)


def decode_row_state(plan: RowPlan, data: bytes, schema: pa.Schema) -> RowState:
    """Return the state that was written for batches with ``schema``.

    Raises
    ------
    StateError
        If the bytes are not a state, are damaged, have a newer format, or belong to something else.
    """
    opened = open_state(data)
    check_whose_rows(opened, plan, schema)
    given = empty_row_state(schema).rows.schema
    rows = rows_as_given(from_message(opened.parts[0], plain_rows(given.empty_table()).schema), given)
    return checked_row_state(plan, rows, dict(opened.arrays), opened.header["watermark"])


def checked_row_state(
    plan: RowPlan, rows: pa.Table, arrays: dict[str, Array], watermark: int | None
) -> RowState:
    """Return a state of rows and marks that fit each other; a StateError if they do not."""
    marks = {name: array_of(arrays, name, kind, rows.num_rows) for name, kind in _MARKS.items()}
    if arrays:
        raise StateError.damaged(f"it holds {next(iter(arrays))!r}, which this clause does not keep")
    time = plan.analysed.order[0].column
    if rows.column(time).null_count:
        raise StateError.damaged(f"rows lack their {time!r}")
    if (marks["numbers"] < 0).any() or (marks["done"] & ~marks["read"]).any():
        raise StateError.damaged("its marks contradict each other")
    return RowState(rows, **marks, watermark=watermark)
