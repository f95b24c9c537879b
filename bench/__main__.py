"""``python -m bench [name ...]``: run benchmarks, write the report, exit with 1 if a bar does not hold."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from bench import (
    automaton,
    compiling,
    foundation,
    growth,
    lazy,
    lazy_work,
    memory,
    nfab,
    peers_duckdb,
    peers_flink,
    peers_funnel,
    peers_spark,
    row_patterns,
    rules,
    sets,
    spark_cores,
    spark_floor,
    stream,
    threads,
    trees,
    why_not,
)
from bench.pages import write_pages
from bench.processes import run_apart, run_here

BENCHMARKS: dict[str, Callable[..., bool]] = {
    "foundation": foundation.main,
    "compiling": compiling.main,
    "automaton": automaton.main,
    "nfab": nfab.main,
    "sets": sets.main,
    "memory": memory.main,
    "lazy": lazy.main,
    "lazy-work": lazy_work.main,
    "trees": trees.main,
    "stream": stream.main,
    "flink": peers_flink.main,
    "duckdb": peers_duckdb.main,
    "clickhouse": peers_funnel.main,
    "spark-sql": peers_spark.main,
    "spark-floor": spark_floor.main,
    "growth": growth.main,
    "threads": threads.main,
    "row-patterns": row_patterns.main,
    "spark-cores": spark_cores.main,
    "rules": rules.main,
    "why-not": why_not.main,
}
LONG: dict[str, Callable[..., bool]] = {"billion": lazy.billion}  # only by name
FOLDER = Path(__file__).parent / "report"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line names; return 0 if every bar holds."""
    known = BENCHMARKS | LONG
    parser = argparse.ArgumentParser(prog="python -m bench", description="Run benchmarks, write a report.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"one of {', '.join(known)}; else all")
    parser.add_argument("--quick", action="store_true", help="smaller data: about ten minutes on two cores")
    parser.add_argument("--list", action="store_true", help="only list what would run")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the report goes")
    parser.add_argument("--record", type=Path, help=argparse.SUPPRESS)  # in a benchmark's own process
    asked = parser.parse_args(arguments)
    names = asked.names or list(BENCHMARKS)
    if unknown := [name for name in names if name not in known]:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(known)}")
    if asked.list:
        print("\n".join(names))
        return 0
    if asked.record is not None:
        (name,) = names
        return 0 if run_here(name, known[name], quick=asked.quick, file=asked.record) else 1
    records = [run_apart(name, quick=asked.quick) for name in names]
    for page in write_pages(records, asked.folder, quick=asked.quick):
        Console().print(f"The report is in {page}", markup=False)
    return 0 if all(record.passed for record in records) else 1


if __name__ == "__main__":
    sys.exit(main())
