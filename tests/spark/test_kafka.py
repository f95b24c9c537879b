"""A round trip through a real Kafka broker, which the tests start and stop."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fyke
from tests.docs.blocks import ROOT
from tests.spark.kafka_broker import BROKER, CONNECTOR, MavenError, fetch, running_broker
from tests.spark.kafka_job import OPTIONS, QUERY
from tests.spark.streams import in_time, stream, the_end

pytestmark = [pytest.mark.spark, pytest.mark.long]


@pytest.fixture(scope="module")
def jars(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], list[Path]]:
    """The jars of the broker, and those of Spark's connector."""
    folder = tmp_path_factory.mktemp("jars")
    try:
        return fetch(folder / "broker", BROKER), fetch(folder / "connector", CONNECTOR, alone=True)
    except MavenError as error:
        pytest.skip(f"Kafka's jars come from Maven, which cannot be reached: {error}")


@pytest.fixture(scope="module")
def broker(jars: tuple[list[Path], list[Path]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_broker(tmp_path_factory.mktemp("broker"), jars[0]) as address:
        yield address


def ran(command: list[str], seconds: int = 900) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-4_000:]
    return done.stdout


def test_events_of_a_topic_become_matches_in_another(
    broker: str, jars: tuple[list[Path], list[Path]], tmp_path: Path
) -> None:
    events = in_time(stream())
    given = pa.concat_tables([events, the_end(events)])
    pq.write_table(given, tmp_path / "events.parquet")
    connector = ",".join(map(str, jars[1]))
    ran([sys.executable, "-m", "tests.spark.kafka_job", str(tmp_path), broker, connector])
    lines = [line for path in (tmp_path / "found").glob("*.json") for line in path.read_text().splitlines()]
    found = [json.loads(line) for line in lines]
    batch = fyke.match(events, QUERY, **OPTIONS)
    assert batch.num_rows > 20
    # At least once: what a death has let Spark write again is equal, and is known by its key.
    times = Counter(row["key"] for row in found)
    assert times.keys() == set(batch["match_id"].to_pylist())
    assert set(times.values()) == {1, 2}
    rows = {row["key"]: json.loads(row["value"]) for row in found}
    assert all(json.loads(row["value"]) == rows[row["key"]] for row in found)
    for row in batch.to_pylist():
        told = rows[row["match_id"]]
        assert told["k"] == row["k"]
        assert len(told["b"]) == len(row["b"])


@pytest.mark.parametrize("name", ["card_fraud", "logins", "shoplifting"])
def test_the_live_examples_run_through_kafka(
    broker: str, jars: tuple[list[Path], list[Path]], name: str
) -> None:
    script = str(ROOT / "examples" / "live" / f"{name}.py")
    options = ["--kafka", broker, "--topic", name, "--batches", "3", "--pause", "0.1"]
    said = ran([sys.executable, script, *options, "--jars", ",".join(map(str, jars[1]))])
    last = said.strip().splitlines()[-1]
    assert "micro-batches" in last
    assert int(last.split()[-2].replace(",", "")) > 0, said
