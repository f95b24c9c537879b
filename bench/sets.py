"""The experiments of [S]: sets and permutations (4.7), two-phase evaluation (5.4), robust matching (6.5)."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence

import pyarrow as pa

import fyke
from bench import robust_shapes
from bench.foundation import stream
from bench.measure import Measured, Variant, in_turn, over, run, search_over
from bench.report import Line, Plot, keep_memory, show
from bench.robust_shapes import Shape

LETTERS = "ABCDEFGHIJ"
LIMITS = fyke.Limits(matches=20_000_000, runs=4_000_000, steps=2**40, buffer_bytes=2**33)
# The automaton by itself: neither candidate windows nor merging, which would help both ([S] 4.7.2).
PLAIN = fyke.Techniques(candidate_windows=False, merging=False)
FEWER = 100.0  # times fewer intermediate matches by backtracking


# --- 4.7.3: one automaton for a set, or one for each of its permutations --------------------


Sets = Sequence[Sequence[str]]  # of variables


def sets_query(sets: Sets, window: int) -> str:
    """Return the query for a sequence of sets."""
    return _query([f"{{{', '.join(each)}}}" for each in sets], window)


def permutation_queries(sets: Sets, window: int) -> Iterator[str]:
    """Expand sets into all their sequences: the brute-force planner of [S] 4.7.2, for comparison only."""
    for orders in itertools.product(*map(itertools.permutations, sets)):
        yield _query([variable for order in orders for variable in order], window)


def _variables(types: str) -> list[str]:
    return [f"{kind} v{k}" for k, kind in enumerate(types, 1)]


def _query(components: list[str], window: int) -> str:
    return f"PATTERN SEQ({', '.join(components)}) WHERE skip_till_next_match {{ [key] }} WITHIN {window}"


def against_permutations(
    what: str, sets: Sets, events: pa.Table, window: int, bar: float | None = None
) -> list[Line]:
    """Compare automaton instances and time of sets and of their permutations."""
    variant = Variant(events, sets_query(sets, window), "t", "kind", PLAIN, limits=LIMITS)
    one = in_turn(3, {"set": variant})["set"]
    instances, seconds, found, automata = 0.0, 0.0, 0, 0
    for query in permutation_queries(sets, window):
        _, part = run(Variant(events, query, "t", "kind", PLAIN, limits=LIMITS))
        instances, seconds, found, automata = (
            instances + part.count("runs_created"),
            seconds + part.search,
            found + part.rows,
            automata + 1,
        )
    # A permutation that takes the next event of its own order may find more than the sets do.
    assert one.rows <= found, f"{what}: {one.rows} matches of the sets, {found} of their permutations"
    made = f"{automata} automata: {instances:,.0f} instances beside {one.count('runs_created'):,.0f}"
    took = f"{automata} automata: {seconds * 1e3:,.0f} ms beside {one.search * 1e3:.1f} ms"
    fewer = instances / one.count("runs_created")
    return [
        Line(f"{what}: instances", fewer, bar, "x", made, at_least=True),
        Line(f"{what}: search", seconds / one.search, None, "x", took),
    ]


def permutations(most: int = 6) -> list[Line]:
    """Vary the variables of a set from 1 to 6: exclusive types, then all of one type."""
    exclusive = stream(2_000, keys=4, types=8)
    alike = stream(1_500, keys=4, types=8)
    lines = []
    for n in range(1, most + 1):
        # Each start is that of (n - 1)! sequences; half of that, as some end early.
        bar = math.factorial(n - 1) / 2
        what = f"permutations / set, exclusive, {n} variables"
        lines += against_permutations(what, [_variables(LETTERS[:n])], exclusive, 160, bar)
    for n in range(1, most + 1):
        what = f"permutations / set, one type, {n} variables"
        lines += against_permutations(what, [_variables("A" * n)], alike, 160)
    return lines


def split_sets(fewest: int = 1) -> list[Line]:
    """Split six variables into more and more sets, up to a sequence, which has one permutation."""
    events = stream(2_000, keys=4, types=8)
    lines = []
    for name, types in (("exclusive", LETTERS[:6]), ("one type", "A" * 6)):
        for number in range(fewest, 7):
            what = f"permutations / sets, {name}, six variables in {number}"
            lines += against_permutations(what, split(_variables(types), number), events, 160)
    return lines


def split(variables: Sequence[str], number: int) -> list[Sequence[str]]:
    """Return variables in so many sets, in order, as equally large as can be."""
    size, more = divmod(len(variables), number)
    ends = list(itertools.accumulate(size + (k < more) for k in range(number)))
    return [variables[begin:end] for begin, end in itertools.pairwise([0, *ends])]


def scaling() -> list[Line]:
    """Double the stream, then the window, of a set of exclusive types."""
    streams = {name: stream(rows, keys=4, types=8) for name, rows in (("once", 200_000), ("twice", 400_000))}
    found = []
    for what, variants in {
        "twice the events": {name: (events, 160) for name, events in streams.items()},
        "twice the window": {"once": (streams["once"], 160), "twice": (streams["once"], 320)},
    }.items():
        both = {
            name: Variant(events, sets_query([_variables("ABC")], window), "t", "kind", PLAIN, limits=LIMITS)
            for name, (events, window) in variants.items()
        }
        best = in_turn(3, both)
        found.append(Line(f"set of three, {what}: time", over(best["twice"], best["once"]), None, "x"))
    return found


# The patterns of 4.7.4, and the power of the window that bounds their time (theorems 4.1 to 4.4).
KINDS = {
    "P_1, exclusive": ("{A v1, B v2, C v3}, {D v4, E v5}", 1),
    "P_2, exclusive, a group": ("{A+ v1[], B v2, C v3}, {D v4, E v5}", 2),
    "P_3, exclusive, two groups": ("{A+ v1[], B+ v2[], C v3}, {D v4, E v5}", 2),
    "P_4, one type": ("{A v1, A v2, A v3}, {D v4, E v5}", 1),
    "P_5, one type, a group": ("{A+ v1[], A v2, A v3}, {D v4, E v5}", None),
}


def kinds(rows: int = 20_000) -> list[Line]:
    """Double the window of five kinds of sets, and compare the search and the most instances at once."""
    events, lines = stream(rows, keys=4, types=8), []
    for name, (pattern, power) in KINDS.items():
        both = {
            str(window): Variant(events, _query([pattern], window), "t", "kind", PLAIN, limits=LIMITS)
            for window in (80, 160)
        }
        once, twice = in_turn(3, both).values()
        at_once = f"{twice.count('peak_runs'):,.0f} instances at once, beside {once.count('peak_runs'):,.0f}"
        bound = "no power of the window" if power is None else f"the window to the power of {power}"
        note = f"{at_once}; bounded by {bound}"
        what = f"kinds of sets, {name}, twice the window: search"
        lines.append(Line(what, search_over(twice, once), None, "x", note))
    return lines


# --- 5.4.2: filter, partition, candidate windows -------------------------------------------

PHASES = {
    "plain": fyke.Techniques(filter=False, partition=False, candidate_windows=False),
    "f": fyke.Techniques(partition=False, candidate_windows=False),
    "fp": fyke.Techniques(candidate_windows=False),
    "fpc": fyke.Techniques(),
}


def two_phase(form: str, variables: int, events: pa.Table) -> Line:
    """Switch filter, partition and candidate windows on, one after the other."""
    components = _variables(LETTERS[:variables])
    if form == "P_set":
        components = [f"{{{', '.join(components)}}}"]
    return phases(f"two-phase, {form}, {variables} variables", _query(components, 300), events)


def phases(what: str, query: str, events: pa.Table) -> Line:
    """Compare the time of a query without and with all phases."""
    best = in_turn(
        3,
        {name: Variant(events, query, "t", "kind", each, limits=LIMITS) for name, each in PHASES.items()},
    )
    plain, full = best["plain"], best["fpc"]
    assert len({each.rows for each in best.values()}) == 1, f"{what}: results differ"
    factors = ", ".join(f"{name} x {plain.seconds / best[name].seconds:.1f}" for name in ("f", "fp", "fpc"))
    note = f"{factors}; {_avoided(full)}, {full.rows:,} matches, runs created {_runs(best)}"
    return Line(f"{what}: time plain / all", over(plain, full), None, "x", note)


def _avoided(full: Measured) -> str:
    unread = full.count("rows") - full.count("events_read")
    return f"{full.count('starts_skipped'):,.0f} starts avoided, {unread:,.0f} events not processed"


def _runs(best: dict[str, Measured]) -> str:
    return ", ".join(f"{each.count('runs_created'):,.0f}" for each in best.values())


def both_phases(variables: Sequence[int] = range(1, 11)) -> list[Line]:
    """Vary the variables of a sequence and of a set from 1 to 10."""
    events = stream(60_000, keys=20, types=14)
    return [two_phase(form, n, events) for form in ("P_seq", "P_set") for n in variables]


# As a cycle of a treatment: doses, groups of others, then two tests.
CYCLE = ["{A v1, B v2}", "{C+ v3[], D+ v4[]}", "{E v5, F v6}"]


def over_windows(windows: Sequence[int]) -> list[Line]:
    """Lengthen the window, and say how the gain grows from the shortest to the longest."""
    events = stream(20_000, keys=20, types=10)
    lines = [phases(f"two-phase, window {w}", _query(CYCLE, w), events) for w in windows]
    what = f"two-phase, window {windows[-1]} / {windows[0]}: gain"
    return [*lines, Line(what, lines[-1].value / lines[0].value, None, "x")]


def over_sizes(sizes: Sequence[int]) -> list[Line]:
    """Lengthen the stream, and say how the gain changes from the shortest to the longest."""
    query = _query(CYCLE, 400)
    lines = [phases(f"two-phase, {n:,} events", query, stream(n, keys=20, types=10)) for n in sizes]
    what = f"two-phase, {sizes[-1]:,} / {sizes[0]:,} events: gain"
    return [*lines, Line(what, lines[-1].value / lines[0].value, None, "x")]


# --- 6.5: robust matching ------------------------------------------------------------------


def robust(shape: Shape, times: int = 3, bar: float | None = FEWER) -> list[Line]:
    """Compare robust matching by backtracking with all matches and post-processing, and with greedy."""
    events = robust_shapes.ticks(shape.rows, "VW" if shape.name == "P_4" else "V")
    query = shape.query("robust_skip_till_next_match")
    greedy_query = shape.query("greedy_skip_till_next_match")
    post = fyke.Techniques(robust="post_processing")
    variants = {
        "tracked": Variant(events, query, "t", "kind", limits=LIMITS),
        "processed": Variant(events, query, "t", "kind", post, limits=LIMITS),
        "greedy": Variant(events, greedy_query, "t", "kind", limits=LIMITS),
    }
    found, greedy_found = run(variants["tracked"])[0], run(variants["greedy"])[0]
    tracked, processed, greedy = in_turn(times, variants).values()
    assert tracked.rows == processed.rows, f"{shape.name}: {tracked.rows} and {processed.rows} matches"
    every, few = processed.count("intermediate_matches"), tracked.count("intermediate_matches")
    missed = len(_bound(found) - _bound(greedy_found)) / max(1, found.num_rows)
    return [
        Line(
            f"robust, {shape.name}: intermediate matches, post-processing / backtracking",
            every / max(1.0, few),
            bar,
            "x",
            f"{every:,.0f} beside {few:,.0f}, {tracked.rows:,} matches",
            at_least=True,
        ),
        Line(
            f"robust, {shape.name}: time, post-processing / backtracking",
            over(processed, tracked),
            None,
            "x",
            f"{processed.seconds * 1e3:,.0f} ms beside {tracked.seconds * 1e3:,.0f} ms; "
            f"greedy takes {greedy.seconds * 1e3:,.0f} ms",
        ),
        Line(f"robust, {shape.name}: matches missed by greedy", 100 * missed, None, "%"),
    ]


def over_variables(numbers: Sequence[int], times: int) -> list[Line]:
    """Add variables to a falling trend, P_vars, and say how many points more the greedy strategy misses."""
    found = [robust(robust_shapes.falling(k), times, None) for k in numbers]
    fewest, most = (lines[-1] for lines in (found[0], found[-1]))
    what = f"robust, P_vars, {numbers[-1]} variables beside {numbers[0]}: more missed by greedy"
    note = f"{most.value:.1f} % beside {fewest.value:.1f} %"
    more = Line(what, most.value - fewest.value, None, "points", note)
    return [*itertools.chain.from_iterable(found), more]


def _bound(matches: pa.Table) -> set[str]:
    """Return what each match binds, variable by variable."""
    fixed = ("match_id", "start", "end")
    columns = [matches.column(name).to_pylist() for name in matches.column_names if name not in fixed]
    return {repr(row) for row in zip(*columns, strict=True)}


def main(*, quick: bool = False) -> bool:
    """Run the benchmark; return whether every bar holds."""
    pa.set_cpu_count(1)
    keep_memory()
    times = 1 if quick else 3
    counted, pruned = permutations(5 if quick else 6), both_phases((1, 4, 7) if quick else range(1, 11))
    apart = split_sets(2 if quick else 1)
    wider = over_windows((100, 400) if quick else (100, 200, 400))
    longer = over_sizes((100_000, 300_000) if quick else (100_000, 300_000, 1_000_000))
    noisy = [line for shape in robust_shapes.shapes() for line in robust(shape, times)]
    trends = over_variables((3, 6, 9) if quick else range(3, 13), times)
    plots = [
        _plot(f"Sets and their permutations, {what}", f"times as {much}", _about(counted, what))
        for what, much in (("instances", "many"), ("search", "long"))
    ]
    plots.append(_plot("Filter, partition and candidate windows", "times as fast", pruned))
    measured = [counted, apart, scaling(), kinds(), pruned, wider, longer, noisy, trends]
    return show("sets", list(itertools.chain.from_iterable(measured)), plots=plots)


def _about(lines: Sequence[Line], what: str) -> list[Line]:
    return [line for line in lines if line.what.endswith(f": {what}")]


def _plot(title: str, up: str, lines: Sequence[Line]) -> Plot:
    """Return the lines by their number of variables, a curve for each form of pattern."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for line in lines:
        _, form, count, *_ = re.split(r", | variables", line.what)
        curves.setdefault(form, []).append((float(count), line.value))
    return Plot(title, "variables", up, curves)
