"""How time grows with events, keys, window, pattern length and cores."""

from __future__ import annotations

import functools
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import fyke
from bench.memory import Feeding, resident_megabytes
from bench.peer_cases import CASES, OPTIONS, cores, on_threads, typed
from bench.report import Line, Plot, Timed, interleaved, keep_memory, show
from bench.spark_floor import write_events

BATCH = 250_000
TEN_TIMES, MANY_KEYS = 11.0, 1.5  # as long, for ten times the events; for a million keys beside a thousand
AT_ONCE = 10**7  # at most so many events become one table
FLAT, MANY_BATCHES = 1.2, 8  # times the memory for ten times the events, once there are so many batches
SEQUENCE = CASES[0]


@dataclass(frozen=True, slots=True)
class Read:
    """A file read in batches: its matches, and the most memory that the process held after a batch, in MB."""

    matches: int
    peak: float


def in_batches(file: Path) -> Read:
    """Read a file batch by batch, and forget each batch once it is matched.

    ``fyke.match`` takes whole tables, so this is the engine below it, fed as a stream feeds it.
    """
    source = pq.ParquetFile(file)
    feeding = Feeding(SEQUENCE.query, source.schema_arrow, "t", "kind")
    found, peak = 0, 0.0
    for batch in source.iter_batches(BATCH):
        table = pa.Table.from_batches([batch])
        found += feeding.feed(table, table.column("t")[-1].as_py())
        peak = max(peak, resident_megabytes())
    return Read(found, peak)


def at_once(file: Path) -> int:
    """Match a whole file by the public call, and return the number of matches."""
    return fyke.match(str(file), SEQUENCE.query, **OPTIONS, **on_threads(1)).num_rows


def of_events(sizes: Sequence[int], times: int) -> tuple[list[Line], Plot]:
    """Ten times the events, and again: the time of each step beside the one before, and the memory."""
    whole = [size for size in sizes if size <= AT_ONCE]
    with tempfile.TemporaryDirectory(prefix="bench-growth-") as folder:
        files = {size: Path(folder) / f"{size}.parquet" for size in sizes}
        for size, file in files.items():
            write_events(file, size)
        works = {str(size): functools.partial(in_batches, file) for size, file in files.items()}
        peaks = {size: in_batches(files[size]).peak for size in sizes}
        batches = interleaved(times, works)
        calls = interleaved(times, {str(size): functools.partial(at_once, files[size]) for size in whole})
    of_batches = f"in batches of {BATCH:,}, as a stream feeds the engine: fyke.match takes whole tables"
    lines = _steps("fyke.match on the file", calls, whole, "whole rows made")
    lines += _steps("in batches", batches, sizes, of_batches)
    lines += [
        Line(
            f"{more:,} events from Parquet / {less:,}, in batches: peak memory",
            peaks[more] / peaks[less],
            FLAT if less >= MANY_BATCHES * BATCH else None,
            "x",
            f"{peaks[more]:,.0f} MB held after a batch at most, beside {peaks[less]:,.0f} MB",
        )
        for less, more in pairwise(sizes)
    ]
    curves = {"in batches": _points(batches), "fyke.match": _points(calls)}
    return lines, Plot("Events, from Parquet", "events", "seconds", curves)


def _steps(how: str, timed: Timed, sizes: Sequence[int], note: str) -> list[Line]:
    """Return a line for each step from a size to the next."""
    return [
        Line(
            f"{more:,} events from Parquet / {less:,}, {how}: time",
            timed.ratio(str(more), str(less)),
            TEN_TIMES * more / less / 10,
            "x",
            f"{timed.best(str(more)):.2f} s beside {timed.best(str(less)):.2f} s at best; {note}",
        )
        for less, more in pairwise(sizes)
    ]


def of_keys(rows: int, keys: Sequence[int], times: int) -> tuple[list[Line], Plot]:
    """The same number of events with more and more keys, whole rows made."""
    tables = {number: typed(rows, keys=number) for number in keys}
    works = {str(number): _matching(table, SEQUENCE.query) for number, table in tables.items()}
    timed = interleaved(times, works)
    lines = []
    for number in keys:
        if number != 1_000:
            bar = MANY_KEYS if number == 1_000_000 else None
            note = f"{rows:,} events, {timed.best(str(number)) * 1e3:,.0f} ms at best"
            ratio = timed.ratio(str(number), "1000")
            lines.append(Line(f"{number:,} keys / 1,000 keys: time", ratio, bar, "x", note))
    return lines, _plot(f"Keys, {rows:,} events", "keys", timed)


def of_window(rows: int, windows: Sequence[int], times: int) -> tuple[list[Line], Plot]:
    """Longer windows, next match and any match; matches are counted."""
    events = typed(rows)
    lines, curves = [], {}
    for case in (CASES[0], CASES[2]):
        works = {str(w): _matching(events, replace(case, window=w).counting) for w in windows}
        timed = interleaved(times, works)
        longest, shortest = str(windows[-1]), str(windows[0])
        what = f"window {windows[-1]:,} / {windows[0]:,}, {case.name}: time"
        lines.append(Line(what, timed.ratio(longest, shortest), None, "x", f"{rows:,} events"))
        curves[case.name] = _points(timed)
    return lines, Plot(f"Window, {rows:,} events", "window", "seconds", curves)


def of_length(rows: int, lengths: Sequence[int], times: int) -> tuple[list[Line], Plot]:
    """Sequences of more and more variables, next match; matches are counted."""
    events = typed(rows)
    queries = {}
    for length in lengths:
        variables = ", ".join(f"{chr(ord('A') + k)} v{k}" for k in range(length))
        head = f"PATTERN SEQ({variables}) WHERE skip_till_next_match {{ [key] }}"
        queries[length] = f"{head} WITHIN 60000 RETURN count(*) AS n"
    timed = interleaved(times, {str(length): _matching(events, query) for length, query in queries.items()})
    ratio = timed.ratio(str(lengths[-1]), str(lengths[0]))
    what = f"{lengths[-1]} variables / {lengths[0]}, next match: time"
    plot = _plot(f"Pattern length, {rows:,} events", "variables", timed)
    return [Line(what, ratio, None, "x", f"{rows:,} events")], plot


def of_cores(rows: int, times: int) -> tuple[list[Line], Plot | None]:
    """More and more threads, whole rows made; the benchmark of threads has the bars."""
    numbers = [n for n in (1, 2, 4, 8, 16, 32) if n <= cores()]
    if len(numbers) == 1 or not on_threads(1):
        return [], None
    events = typed(rows)
    works = {str(n): _matching(events, SEQUENCE.query, **on_threads(n)) for n in numbers}
    timed = interleaved(times, works, clock=time.perf_counter)
    lines = [
        Line(f"one thread / {n} threads: time", timed.ratio("1", str(n)), None, "x", f"{rows:,} events")
        for n in numbers[1:]
    ]
    return lines, _plot(f"Threads, {rows:,} events", "threads", timed)


def _matching(events: pa.Table, query: str, **more: Any) -> Callable[[], pa.Table]:
    return functools.partial(fyke.match, events, query, **OPTIONS, **(more or on_threads(1)))


def _points(timed: Timed) -> list[tuple[float, float]]:
    return [(float(name), timed.best(name)) for name in timed.rounds]


def _plot(title: str, across: str, timed: Timed) -> Plot:
    return Plot(title, across, "seconds", {"Fyke": _points(timed)})


FULL: Mapping[str, Any] = {"sizes": (10**5, 10**6, 10**7, 10**8), "rows": 5_000_000, "times": 5}
QUICK: Mapping[str, Any] = {"sizes": (10**5, 10**6), "rows": 1_000_000, "times": 3}


def main(*, quick: bool = False) -> bool:
    """Run the benchmark; return whether every bar holds."""
    pa.set_cpu_count(1)
    fyke.warm_up()
    chosen = QUICK if quick else FULL
    rows, times = chosen["rows"], chosen["times"]
    found = [of_events(chosen["sizes"], 3)]  # first: later parts hold tables
    keep_memory()
    found += [
        of_keys(rows, (1, 1_000, 1_000_000), times),
        of_window(rows // 5, (5_000, 20_000, 80_000), times),
        of_length(rows // 5, (2, 3, 4, 6, 8), times),
    ]
    pa.set_cpu_count(cores())
    lines, plot = of_cores(rows, times)
    plots = [each for _, each in found] + ([plot] if plot is not None else [])
    remarks = "" if plot is not None else "Cores: there is one, or fyke.match has no option threads."
    return show("growth", [line for each, _ in found for line in each] + lines, plots=plots, remarks=remarks)
