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
from tests.command.test_pipeline import LOGINS
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


SEND = """
[run]
conf = {{ "spark.jars" = "{jars}" }}

[source.Login]
path = "logins.csv"
map = {{ ts = "when", user = "account" }}

[events]
time = "ts"

[query.Attempt]
text = "PATTERN Login l RETURN l.user AS account, l.result AS result"

[sink.Attempt]
format = "kafka"
options = {{ "kafka.bootstrap.servers" = "{address}", topic = "attempts" }}

[sink.file]
query = "Attempt"
path = "attempts.parquet"
"""
FOLLOW = """
[run]
stream = true
checkpoint = "state"
conf = {{ "spark.jars" = "{jars}", "spark.sql.shuffle.partitions" = 2 }}

[source.Attempt]
format = "kafka"
options = {{ "kafka.bootstrap.servers" = "{address}", subscribe = "attempts", startingOffsets = "earliest" }}
columns = "start timestamp, account string, result string"
map = {{ ts = "start", user = "account" }}

[events]
time = "ts"
watermark = "5 minutes"

[query.Guessed]
text = '''
PATTERN SEQ(Attempt{{3,}} f[], Attempt s)
WHERE greedy_skip_till_next_match {{ [user] AND f[i].result = 'fail' AND s.result = 'ok' }}
WITHIN 10 minutes
RETURN f.len AS tries
'''

[sink.Guessed]
format = "kafka"
options = {{ "kafka.bootstrap.servers" = "{address}", topic = "guessed" }}
"""


def test_the_command_line_reads_and_writes_topics(
    broker: str, jars: tuple[list[Path], list[Path]], tmp_path: Path
) -> None:
    """A batch to a topic, a stream from it to another one, and a batch of that."""
    connector = ",".join(map(str, jars[1]))
    (tmp_path / "logins.csv").write_text(LOGINS)
    (tmp_path / "send.toml").write_text(SEND.format(jars=connector, address=broker))
    (tmp_path / "follow.toml").write_text(FOLLOW.format(jars=connector, address=broker))
    command = [sys.executable, "-m", "fyke"]
    said = ran([*command, "run", str(tmp_path / "send.toml")])
    attempts = LOGINS.count("\n") - 1
    assert f"Attempt: {attempts} matches written to attempts\n" in said  # the topic
    assert pq.read_table(tmp_path / "attempts.parquet").num_rows == attempts
    said = ran([*command, "run", str(tmp_path / "follow.toml"), "--once"])
    assert f"{attempts} events, 1 match" in said
    query = "PATTERN ANY g RETURN g.user AS user, g.tries AS tries"
    read = ["--format", "kafka", "--columns", "start timestamp, user string, tries long"]
    read += ["--source", "subscribe=guessed", "--source", f"kafka.bootstrap.servers={broker}"]
    read += ["--conf", f"spark.jars={connector}"]
    told = json.loads(ran([*command, "match", "-q", query, "--time", "start", *read, "--json"]))
    assert (told["matches"], told["spark"]) == (1, True)
    assert (told["rows"][0]["user"], told["rows"][0]["tries"]) == ("ann", 3)


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
