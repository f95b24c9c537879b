"""A Kafka broker for tests, of one node; its jars and those of Spark's connector come from Maven."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

# When this was written, Maven had no connector of Spark 4.3, and no token provider of 4.2.
CONNECTOR = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.0-preview1",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.13.1",
)
BROKER = ("org.apache.kafka:kafka_2.13:4.1.2",)
_JAVA = ("java", "-Xmx256m", "-XX:TieredStopAtLevel=1")
_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"
_SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={logs}
num.partitions=2
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""


class MavenError(Exception):
    """Maven is not there, or cannot resolve what is asked for."""


def fetch(folder: Path, artefacts: Sequence[str], *, alone: bool = False) -> list[Path]:
    """Return the jars of artefacts, with all that they need, or ``alone``."""
    if shutil.which("mvn") is None:
        raise MavenError("there is no mvn here")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pom.xml").write_text(_pom(artefacts, alone))
    command = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime"]
    done = subprocess.run(
        [*command, f"-DoutputDirectory={folder / 'jars'}"],
        cwd=folder, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    if done.returncode:
        said = [line for line in done.stdout.splitlines() if "ERROR" in line]
        raise MavenError(said[0] if said else done.stderr)
    return sorted((folder / "jars").glob("*.jar"))


def _pom(artefacts: Sequence[str], alone: bool) -> str:
    nothing = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    needed = ""
    for artefact in artefacts:
        group, name, version = artefact.split(":")
        needed += f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
        needed += f"<version>{version}</version>{nothing if alone else ''}</dependency>"
    own = "<groupId>fyke</groupId><artifactId>jars</artifactId><version>1</version>"
    return f"<project><modelVersion>4.0.0</modelVersion>{own}<dependencies>{needed}</dependencies></project>"


@contextmanager
def running_broker(folder: Path, jars: Sequence[Path]) -> Iterator[str]:
    """Start a broker, give its address, and stop it."""
    port, controller = _free_ports(2)
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "server.properties"
    settings.write_text(_SETTINGS.format(port=port, controller=controller, logs=folder / "logs"))
    java = [*_JAVA, "-cp", ":".join(map(str, jars))]
    format_logs = [*java, "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(settings)]
    subprocess.run(format_logs, check=True, capture_output=True, timeout=300)
    with (folder / "broker.log").open("wb") as log:
        broker = subprocess.Popen([*java, "kafka.Kafka", str(settings)], stdout=log, stderr=log)
    try:
        _wait_for(broker, port, folder / "broker.log")
        yield f"127.0.0.1:{port}"
    finally:
        broker.terminate()
        try:
            broker.wait(60)
        except subprocess.TimeoutExpired:
            broker.kill()
            broker.wait()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _wait_for(broker: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until the broker takes connections; it is ready for clients then, or soon, and they try again."""
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        assert broker.poll() is None, log.read_text()
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(f"the broker does not answer: {log.read_text()}")
