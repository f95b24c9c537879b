"""Runs engines over the pieces of a table, side by side; returns the result and the counts."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace
from threading import local
from typing import cast

import pyarrow as pa

from fyke.engine.counters import Counters
from fyke.engine.cut import CutTable, Piece
from fyke.engine.engine import Engine
from fyke.engine.found import Found
from fyke.engine.kernels import layout as L
from fyke.engine.limits import LimitReached, limits_by_partition
from fyke.engine.matchset import no_matches
from fyke.engine.measure.clock import Clock
from fyke.engine.meter import Budget, Meter
from fyke.engine.output.builders import RowBuilder, builder_of
from fyke.engine.output.rows import ResultBuilder
from fyke.engine.output.size import check_size, rows_bytes
from fyke.engine.owned import owned
from fyke.engine.threads import Team
from fyke.plan.counting import Counting
from fyke.plan.plan import Plan

_TALLIES = 1 << 16  # with more rows of tallies than this, merging them pays
_PIECE_MATCHES = 1 << 18

Look = Callable[[Found], None]


@dataclass(slots=True)
class _Read:
    """What a piece has given: rows, counts, the time it took, and what was found, if somebody looks at it."""

    rows: pa.Table
    counters: Counters
    clock: Clock
    found: list[Found] = field(default_factory=list)


class TableReader:
    """Reads the pieces of one table.  Each thread has an engine and a builder of its own.

    That of the thread which makes the reader may be given.
    """

    def __init__(
        self, plan: Plan, cut: CutTable, budget: Budget, team: Team, engine: Engine | None = None
    ) -> None:
        self.plan, self.cut, self.budget, self.team = plan, cut, budget, team
        self.whole = len(cut.pieces) == 1
        self._own = local()
        if engine is not None:
            self._own.engine = engine

    def result(self, clock: Clock | None = None, look: Look | None = None) -> tuple[pa.Table, Counters]:
        """Return the result; ``look`` is called with what the engines find, in the order of the pieces."""
        clock = clock or Clock()
        counters = Counters()
        rows = []
        for read in self._reads(looked_at=look is not None):
            for found in read.found:
                assert look is not None
                look(found)
            counters.merge(read.counters)
            clock.add(read.clock)
            rows.append(read.rows)
        clock.restart()
        builder = self._builder()
        result = builder.finish(rows[0] if self.whole else pa.concat_tables(rows))
        clock.lap("rows")
        return result, counters

    def _reads(self, *, looked_at: bool) -> list[_Read]:
        """Return what the pieces give, in their order; the longest are read first, and waited for least."""
        pieces = self.cut.pieces
        order = sorted(range(len(pieces)), key=lambda k: -pieces[k].size)
        reads = self.team.each(lambda k: self._read(pieces[k], looked_at=looked_at), order)
        return [read for _, read in sorted(zip(order, reads, strict=True), key=lambda each: each[0])]

    def batches(self, counters: Counters) -> Iterator[pa.RecordBatch]:
        """Yield the rows of matches in batches, and fill in the counts; an engine may wait for its reader."""
        builder = self._builder()
        for piece in self.cut.pieces:
            for found in self._found(piece, Clock(), in_chunks=True):
                counters.merge(found.counters)
                if len(found.matches) or found.graphs:
                    for part in found.in_pieces(_PIECE_MATCHES):
                        yield from builder.rows(part).to_batches()

    def _engine(self) -> Engine:
        if not hasattr(self._own, "engine"):
            self._own.engine = Engine(self.plan)
        return cast(Engine, self._own.engine)

    def _builder(self) -> RowBuilder:
        if not hasattr(self._own, "builder"):
            self._own.builder = builder_of(self.plan)
        return cast(RowBuilder, self._own.builder)

    def _read(self, piece: Piece, *, looked_at: bool) -> _Read:
        """Return the rows of a piece."""
        clock, counters, kept = Clock(), Counters(), []
        builder, counting = self._builder(), self.plan.counting
        if isinstance(builder, ResultBuilder) and isinstance(counting, Counting) and counting.chunks:
            return self._tally_chunks(piece, builder, looked_at=looked_at)
        (found,) = self._found(piece, clock, in_chunks=False)
        counters.merge(found.counters)
        self._check_size(piece, found)
        # A format that builds other rows has its own way to do so, and so have pieces that must fit others.
        alone = self.whole and type(builder) is ResultBuilder
        rows = builder.all_rows(found) if alone else builder.rows(found)  # type: ignore[attr-defined]
        clock.lap("rows")
        if looked_at:
            kept = [_without_matches(found)]
        return _Read(rows, counters, clock, kept)

    def _check_size(self, piece: Piece, found: Found) -> None:
        """Raise before rows are made, if they take more memory than they may with those of all pieces."""
        with limits_by_partition(found.rows, self.plan):
            if self.whole:
                check_size(found, self.plan)
            elif len(found.matches):
                size = rows_bytes(found, self.plan)
                if self.budget.hold(id(piece), size) > self.plan.limits.buffer_bytes:
                    raise LimitReached("buffer_bytes", int(found.matches.positions[-1]), "rows")

    def _tally_chunks(self, piece: Piece, builder: ResultBuilder, *, looked_at: bool) -> _Read:
        """Tally and drop the matches of each chunk when it is found: memory does not grow with them."""
        clock, counters, tallies = Clock(), Counters(), [builder.schema.empty_table()]
        waiting, merged, kept = 0, 0, []
        for found in self._found(piece, clock, in_chunks=True):
            if looked_at and (found.decided or found.counters.events_read):
                kept.append(_without_matches(found))
            clock.restart()
            counters.merge(found.counters)
            tallies.append(builder.rows(found))
            waiting += tallies[-1].num_rows
            if waiting > max(_TALLIES, merged):
                tallies = [builder.merge(tallies)]
                waiting, merged = 0, tallies[0].num_rows
            clock.lap("rows")
        return _Read(pa.concat_tables(tallies), counters, clock, kept)

    def _found(self, piece: Piece, clock: Clock, *, in_chunks: bool) -> Generator[Found, None, None]:
        """Yield what the engine finds in a piece, and the piece owns."""
        engine, rows = self._engine(), piece.table()
        if self.whole:
            meter = Meter(self.plan.limits, self.budget.rows, ends_with=self.budget)
        else:
            meter = Meter(self.plan.limits, rows.num_rows, self.budget, piece.partition)
        state = engine.start(rows.schema)
        if in_chunks:
            for found in engine.advance_in_chunks(state, rows, None, clock=clock, meter=meter):
                yield self._owned(piece, found, engine)
        else:
            _, found = engine.advance(state, rows, None, clock=clock, meter=meter)
            yield self._owned(piece, found, engine)
        if not self.whole:
            with limits_by_partition(rows, self.plan):
                meter.end()

    def _owned(self, piece: Piece, found: Found, engine: Engine) -> Found:
        """Return what was found in a slice and belongs to it, within the limits of all slices together."""
        if not piece.sliced:
            return found
        mine = owned(found, piece.owns(found.events[L.EVENT_END]), engine)
        if self.budget.add_matches(piece.partition, mine.counters.matches) > self.plan.limits.matches:
            with limits_by_partition(found.rows, self.plan):
                raise LimitReached("matches", 0, "matches")
        return mine


def _without_matches(found: Found) -> Found:
    """Return what else a call reports, without its matches, which would hold memory for long."""
    return replace(found, matches=no_matches(), graphs=None, tally=None)
