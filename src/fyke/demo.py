"""``python -m fyke.demo``: three questions to local Spark and one to a live stream, with known answers.

It ends with a page of the matches to look around in.  The exit code is 0 if every answer is right, and 1
otherwise.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fyke.api import explain, flush, match
from fyke.command.show import working
from fyke.datasets import as_dataframe, food, rfid, stocks
from fyke.engine.warm_up import warm_up
from fyke.errors import FykeError
from fyke.pictures.draw import timeline
from fyke.spark.local import quiet_errors, start_quietly

SHOPLIFTING = f"""\
{rfid.QUERY.rstrip()}
RETURN a.product AS product, a.area AS shelf, a.ts AS taken, c.area AS door, c.ts AS gone
"""
CONTAMINATION = f"""\
{food.QUERY.rstrip()}
RETURN a.id AS alert, a.site AS source, b.len AS hops, b[b.len].id AS shipment, b[b.len].to AS reached
"""
TREND = """\
PATTERN SEQ(Stock+ a[], Stock b)
WHERE skip_till_next_match(a[], b) {
    [symbol] AND a[1].volume > 950 AND a.len >= 5
    AND a[i].price > avg(a[..i-1].price)
    AND b.volume < 20% * a[a.len].volume
}
WITHIN 1 hour
RETURN a.len AS ticks, a[1].price AS opening, a[a.len].price AS closing, b.volume AS volume
"""
SHOWN = 5
LIVE_ROWS, LIVE_BATCHES = 20_000, 4
COLUMNS: dict[str, Any] = {"time": "ts", "type": "kind"}


@dataclass(frozen=True, slots=True)
class Question:
    """A stream, a query, and the answer: the keys of the right matches, each with its number."""

    title: str
    story: str
    table: pa.Table
    query: str
    key: tuple[str, ...]
    answer: Counter[tuple[Any, ...]]
    source: str
    output: str = "all"


# --- the questions ------------------------------------------------------------------------


def shoplifting(rows: int, seed: int) -> Question:
    """Tags that leave the shop and never pass a register."""
    shop = rfid.generate(rows, seed)
    answer = Counter({(row["tag_id"],): row["matches"] for row in shop.truth.to_pylist()})
    story = "An item is read on a shelf and then at an exit, with no register in between."
    return Question("Shoplifters", story, shop.table, SHOPLIFTING, ("tag_id",), answer, "the thefts planted")


def contamination(rows: int, seed: int) -> Question:
    """Shipments that carry food on from a contaminated site."""
    chain = food.generate(rows, seed)
    key = ("alert", "shipment", "hops")
    story = "A site is contaminated. Which shipments carry it on, from site to site?"
    return Question(
        "Food contamination",
        story,
        chain.table,
        CONTAMINATION,
        key,
        _counted(chain.truth, key),
        "the spread planted",
    )


def trend(rows: int, seed: int) -> Question:
    """Stocks whose volume collapses after a rise.  Nothing is planted: a run without Spark is the judge."""
    ticks = stocks.generate(rows, seed, symbols=100)
    key, output = ("match_id",), "non_overlap"
    answer = _counted(match(ticks, TREND, output=output, **COLUMNS), key)
    story = "A stock starts at a high volume, its price climbs, and then its volume collapses."
    return Question("Market trend", story, ticks, TREND, key, answer, "the same call without Spark", output)


def _counted(table: pa.Table, key: Sequence[str]) -> Counter[tuple[Any, ...]]:
    columns = (table.column(name).to_pylist() for name in key)
    return Counter(zip(*columns, strict=True))


# --- the show -----------------------------------------------------------------------------


def ask(console: Console, spark: SparkSession, question: Question) -> bool:
    """Answer a question on Spark, print everything about it, and say whether the answer is right."""
    options = {**COLUMNS, "output": question.output}
    events = as_dataframe(spark, question.table)
    rows = question.table.num_rows
    console.rule(f"[bold]{question.title}[/bold]: {rows:,} events")
    console.print(question.story + "\n")
    console.print(escape(explain(events, question.query, **options)) + "\n", highlight=False, soft_wrap=True)
    begin = time.perf_counter()
    with working("Spark is matching", tasks=True, out=console):
        found = match(events, question.query, **options).toArrow()
    seconds = time.perf_counter() - begin
    console.print(as_table(found))
    console.print(f"{rows:,} events in {seconds:.1f} s: {rows / seconds:,.0f} events per second.")
    return judge(console, question, _counted(found, question.key))


def live(console: Console, spark: SparkSession, seed: int) -> bool:
    """Find shoplifters as their readings come in, micro-batch by micro-batch, and judge all of them."""
    question = shoplifting(LIVE_ROWS, seed)
    console.rule(f"[bold]{question.title}, live[/bold]: {LIVE_ROWS:,} events in {LIVE_BATCHES} portions")
    console.print("The same query on a stream. A theft is reported when it is certain.\n")
    found: Counter[tuple[Any, ...]] = Counter()

    def report(frame: DataFrame, number: int) -> None:
        rows = frame.collect()
        found.update((row.tag_id,) for row in rows)
        latest = f", the last one at {max(row.gone for row in rows):%d %b %H:%M:%S}" if rows else ""
        console.print(f"  micro-batch {number}: {len(rows)} thefts{latest}")

    with tempfile.TemporaryDirectory() as folder, quiet_errors():
        for number, part in enumerate(_portions(question.table.sort_by("ts"), LIVE_BATCHES)):
            pq.write_table(part, f"{folder}/{number}.parquet")
        schema = as_dataframe(spark, question.table.slice(0, 1)).schema
        reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        events = reader.parquet(folder)
        with tempfile.TemporaryDirectory() as checkpoint:
            thefts = match(events, question.query, watermark="10 minutes", **COLUMNS)
            writer = thefts.writeStream.foreachBatch(report)
            query = writer.option("checkpointLocation", checkpoint).start()
            query.processAllAvailable()
            query.stop()
            rest = flush(events, question.query, checkpoint=checkpoint, **COLUMNS).collect()
    found.update((row.tag_id,) for row in rest)
    console.print(f"  at the end: {len(rest)} more")
    return judge(console, question, found)


def show_page(console: Console, seed: int, path: Path | None) -> bool:
    """Write the events and thefts of the stream as a page; return whether it could be written."""
    console.rule("[bold]A page of its matches[/bold]")
    target = Path(tempfile.mkdtemp(prefix="fyke-demo-")) / "demo.html" if path is None else path
    try:
        written = timeline(shoplifting(LIVE_ROWS, seed).table, SHOPLIFTING, **COLUMNS).save(target)
    except FykeError as error:
        console.print(escape(str(error)), soft_wrap=True)
        return False
    console.print(f"All {LIVE_ROWS:,} events and the thefts among them: zoom, pan, hover, choose a tag.")
    console.print(f"Open {escape(written.resolve().as_uri())}", soft_wrap=True)
    return True


def _portions(table: pa.Table, count: int) -> Iterator[pa.Table]:
    size = -(-table.num_rows // count)
    return (table.slice(begin, size) for begin in range(0, table.num_rows, size))


def as_table(found: pa.Table) -> Table:
    """Return the first matches as a table to print."""
    names = [name for name in found.column_names if name not in ("match_id", "start", "end")]
    table = Table(
        title=f"the first {min(SHOWN, found.num_rows)} of {found.num_rows:,} matches", title_justify="left"
    )
    for name in names:
        kind = found.schema.field(name).type
        table.add_column(name, justify="right" if pa.types.is_integer(kind) else "left", no_wrap=True)
    for row in found.sort_by([("start", "ascending"), ("match_id", "ascending")]).slice(0, SHOWN).to_pylist():
        table.add_row(*(_cell(row[name]) for name in names))
    return table


def _cell(value: Any) -> str:
    return f"{value:%d %b %H:%M:%S}" if hasattr(value, "strftime") else str(value)


def judge(console: Console, question: Question, found: Counter[tuple[Any, ...]]) -> bool:
    """Compare what was found with the answer."""
    missing, false = question.answer - found, found - question.answer
    right = not missing and not false
    numbers = {"expected": question.answer, "found": found, "missing": missing, "false": false}
    console.print(", ".join(f"{name} {count.total():,}" for name, count in numbers.items()), end=" ")
    verdict = "[green]right[/green]" if right else "[red]WRONG[/red]"
    console.print(f"(against {question.source}): {verdict}\n")
    return right


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m fyke.demo", description="Three questions to local Spark, and one to a live stream."
    )
    parser.add_argument(
        "--rows", type=int, default=1_000_000, help="events in the first stream (default: 1,000,000)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random generators (default: 0)")
    parser.add_argument(
        "--page", type=Path, help="where the page of matches goes (default: a new temporary folder)"
    )
    chosen = parser.parse_args(arguments)
    if chosen.rows < 1_000:
        parser.error("--rows must be at least 1000")
    console = Console(highlight=False)
    begin = time.perf_counter()
    warm_up()
    seconds = time.perf_counter() - begin
    console.print(
        f"Kernels are ready in {seconds:.1f} s. They are compiled once on a machine, and loaded later."
    )
    with working("starting Spark and its workers", out=console):
        spark = start_quietly("Fyke demo")
        match(as_dataframe(spark, rfid.generate(1_000).table), SHOPLIFTING, **COLUMNS).toArrow()
    right = ask(console, spark, shoplifting(chosen.rows, chosen.seed))
    right &= ask(console, spark, contamination(max(1_000, chosen.rows // 10), chosen.seed))
    right &= ask(console, spark, trend(max(1_000, chosen.rows // 5), chosen.seed))
    right &= live(console, spark, chosen.seed)
    spark.stop()
    right &= show_page(console, chosen.seed, chosen.page)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
