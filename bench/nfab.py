"""The experiments of [N] section 6: cost and output, merging of runs, breadth-first and backtracking.

[N] takes streams of 200 windows per symbol.  Here streams are bounded by the size of their output, as
a match is materialised and its length grows with the window.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

import fyke
from bench.automaton import CONTIGUITY, ITERATORS, NEXT_MATCH, template
from bench.measure import Variant, in_turn, over, run, search_over
from bench.report import Line, Plot, keep_memory, show
from fyke.datasets import stocks

WINDOWS = (500, 1000, 1500, 2000)
WHERE = {CONTIGUITY: "contiguity", NEXT_MATCH: "next match"}
ELEMENTS = 6_000_000  # at most about so many bindings in an output
LIMITS = fyke.Limits(matches=10_000_000, steps=2**40, buffer_bytes=2**33)
BACKTRACK = fyke.Techniques(search="backtrack")
# As p3, with a third component that most runs wait for in vain.
THIRD = """
    PATTERN SEQ(Stock+ a[], Stock b, Stock c)
    WHERE {strategy}(a[], b, c) {{
        [symbol] AND a[1].price % 500 = 0 AND a[i].price > min(a[..i-1].price) AND b.volume < 150
        AND c.price > a[1].price AND c.price < a[a.len].price
    }}
    WITHIN {window} EVENTS
"""
# The first event's id is needed to the end and no two runs share it: nothing can merge.
UNMERGED = """
    PATTERN SEQ(Stock+ a[], Stock b)
    WHERE skip_till_next_match(a[], b) {
        [symbol] AND a[1].price % 500 = 0 AND b.volume < 150 AND b.id > a[1].id
    }
    WITHIN 500 EVENTS RETURN count(*) AS n
"""


def ticks(window: int) -> pa.Table:
    """Return 200 windows per symbol, or as many events as give about :data:`ELEMENTS` bindings under p1."""
    per_event = 0.002 * 0.15 * window * window / 2
    return stocks.generate(min(400 * window, int(ELEMENTS / per_event)))


def variant(
    events: pa.Table, query: str, techniques: fyke.Techniques | None = None, output: str = "all"
) -> Variant:
    """Return a query over ticks."""
    return Variant(events, query, "ts", "kind", techniques or fyke.Techniques(), output, LIMITS)


def counted(query: str) -> str:
    """Return the query without its matches: what is left is the search ([N] experiment 6)."""
    return f"{query} RETURN count(*) AS n"


# --- figure 8 (a) to (c): cost and output ---------------------------------------------------


def cost_and_output(
    predicate: str, strategy: str, windows: Sequence[int], throughput: dict[str, list[tuple[float, float]]]
) -> list[Line]:
    """Compare how cost and output grow with the window, on one stream; enter the throughput by window."""
    events = stocks.generate(24_000)
    queries = {str(window): template(predicate, strategy, window) for window in windows}
    sizes = {name: _elements(run(variant(events, query))[0]) for name, query in queries.items()}
    best = in_turn(3, {name: variant(events, query) for name, query in queries.items()})
    first, last = str(windows[0]), str(windows[-1])
    small, large = best[first], best[last]
    output = sizes[last] / sizes[first]
    throughput[f"{predicate}, {WHERE[strategy]}"] = [
        (float(name), events.num_rows / each.seconds) for name, each in best.items()
    ]
    steps = large.count("bindings_tried") / small.count("bindings_tried")
    what = f"{predicate}, {WHERE[strategy]}, W {first} to {last}"
    per_element = ", ".join(f"{best[n].seconds * 1e9 / sizes[n]:.0f}" for n in best)
    return [
        Line(
            f"{what}: run steps grow, per growth of output",
            steps / max(1.0, output),
            1.05,
            "x",
            f"output x {output:.1f} ({sizes[last]:,} bindings), steps x {steps:.1f}",
        ),
        Line(
            f"{what}: time grows, per growth of output",
            over(large, small, max(1.0, output)),
            1.25,
            "x",
            f"ns per binding of the output, by window: {per_element}",
        ),
    ]


def strategies(predicate: str) -> Line:
    """Compare what a relaxed strategy costs under a predicate (experiment 1)."""
    events = stocks.generate(24_000)
    both = {name: variant(events, template(predicate, strategy)) for strategy, name in WHERE.items()}
    best = in_turn(3, both)
    relaxed, strict = best["next match"], best["contiguity"]
    note = f"{relaxed.rows:,} and {strict.rows:,} matches"
    return Line(f"{predicate}: next match / contiguity, time", over(relaxed, strict), None, "x", note)


def _elements(matches: pa.Table) -> int:
    return matches.num_rows + sum(len(chunk.flatten()) for chunk in matches.column("a").chunks)


# --- figure 8 (f), (g), table 3: merging ----------------------------------------------------


def merging(predicate: str, window: int) -> list[Line]:
    """Compare the search with and without merging of equivalent runs."""
    events, query = ticks(window), counted(template(predicate, NEXT_MATCH, window))
    both = {
        "off": variant(events, query, fyke.Techniques(merging=False)),
        "on": variant(events, query),
    }
    best = in_turn(3, both, seconds=0.8)
    on, off = best["on"], best["off"]
    steps = (
        f"{off.per_event('bindings_tried'):.2f} to {on.per_event('bindings_tried'):.2f} run steps per event"
    )
    share = on.count("runs_merged") / max(1.0, _started(events))
    reported = " ([N]: 1.4 to 2.1)" if predicate == "p1" else ""
    return [
        Line(
            f"merging, {predicate}, W {window}: search without / with",
            search_over(off, on),
            None,
            "x",
            f"{steps}, {share:.0%} of {_started(events):,} starts merged{reported}",
        )
    ]


def _started(events: pa.Table) -> int:
    price = events.column("price").to_numpy()
    return int((price % 500 == 0).sum())


def merging_in_vain() -> Line:
    """Measure what looking for equivalent runs costs where there are none."""
    events = stocks.generate(200_000)
    both = {
        "off": variant(events, UNMERGED, fyke.Techniques(merging=False)),
        "on": variant(events, UNMERGED),
    }
    best = in_turn(10, both, seconds=6)
    merged = int(best["on"].count("runs_merged"))
    note = f"{merged} runs merged, {best['on'].search * 1e3:.0f} ms beside {best['off'].search * 1e3:.0f} ms"
    return Line(
        "merging where nothing merges: search with / without",
        search_over(best["on"], best["off"]),
        1.05,
        "x",
        note,
    )


# --- figure 8 (d), (e): breadth-first and backtracking --------------------------------------


def orders(name: str, query: str, output: str, events: pa.Table, reported: str) -> Line:
    """Compare the two orders of search."""
    best = in_turn(
        3,
        {
            "breadth": variant(events, query, output=output),
            "backtrack": variant(events, query, BACKTRACK, output),
        },
    )
    breadth, backtrack = best["breadth"], best["backtrack"]
    assert breadth.rows == backtrack.rows, f"{name}: {breadth.rows} and {backtrack.rows} matches"
    assert breadth.count("events_reread") == 0, f"{name}: breadth-first read an event twice"
    note = (
        f"{backtrack.per_event('events_reread'):.2f} re-reads per event, {breadth.rows:,} matches, "
        f"{backtrack.search * 1e3:.0f} ms beside {breadth.search * 1e3:.0f} ms{reported}"
    )
    return Line(
        f"backtrack / breadth-first, {output}, {name}: search",
        search_over(backtrack, breadth),
        None,
        "x",
        note,
    )


def both_orders(rows: int) -> list[Line]:
    """Return the comparison for all queries, all results and non-overlapping ones."""
    events = stocks.generate(rows)
    lines = []
    for output in ("all", "non_overlap"):
        for strategy in WHERE:
            for predicate in ITERATORS:
                reported = ""
                if output == "all":
                    reported = (
                        " ([N]: 1.3)" if (predicate, strategy) == ("p2", CONTIGUITY) else " ([N]: 200 to 300)"
                    )
                name = f"{predicate}, {WHERE[strategy]}"
                lines.append(orders(name, template(predicate, strategy), output, events, reported))
    for strategy in WHERE:
        query = THIRD.format(strategy=strategy, window=500)
        reported = " ([N]: about 10)" if strategy == NEXT_MATCH else ""
        lines.append(orders(f"p3*, {WHERE[strategy]}", query, "non_overlap", events, reported))
    return lines


EXPLANATION = """\
Backtracking is a baseline made as well as the rest: compiled loops over the same arrays, one run at a time,
postponed runs on a stack.  A re-read costs it what a step of a run costs breadth-first search, so the factor
is about the number of re-reads; where a run is determined by its start and nothing is lost by following it
alone, it can even be the faster order.  [N]'s factors of 200 to 300, with 0.6 re-reads per event, measure an
implementation of backtracking rather than the order of search."""


def main(*, quick: bool = False) -> bool:
    """Run the benchmark; return whether every bar holds."""
    pa.set_cpu_count(1)
    keep_memory()
    windows = (WINDOWS[0], WINDOWS[-1]) if quick else WINDOWS
    throughput: dict[str, list[tuple[float, float]]] = {}
    lines = [
        line
        for strategy in WHERE
        for predicate in ITERATORS
        for line in cost_and_output(predicate, strategy, windows, throughput)
    ]
    lines += [strategies(predicate) for predicate in ITERATORS]
    lines += [line for p in ITERATORS for window in windows for line in merging(p, window)]
    lines += [merging_in_vain(), *both_orders(20_000 if quick else 100_000)]
    plot = Plot("Whole rows on 24,000 ticks", "window, in events", "events a second", throughput)
    return show("nfab", lines, plots=[plot], remarks=EXPLANATION)
