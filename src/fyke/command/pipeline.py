"""A pipeline file to what it describes: sources, events, queries and sinks, checked before a row is read."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fyke
from fyke.call.files import format_of
from fyke.command.source import OWN_FORMATS, Named
from fyke.command.toml_section import Section, read_toml
from fyke.errors import FykeError, OptionError, QueryError, listed, near_misses, shown
from fyke.language.row_patterns import RowPatternQuery
from fyke.language.text import AnyQuery, parse_program
from fyke.limits import Limits
from fyke.plan.engines import ENGINES
from fyke.spark.mapped import KINDS, UNITS, Mapped

RULES = "rules"  # the name of the result of all rules
TERMINAL = "terminal"
_WRITTEN = ("parquet", "csv", "json", "ipc")
_MODES = ("append", "overwrite", "update", "complete")
_STREAM_MODES = ("append", "update", "complete")


@dataclass(frozen=True, slots=True)
class Source:
    """Where events come from, and the attributes that their columns become."""

    name: str
    named: Named
    mapped: tuple[Mapped, ...] = ()


@dataclass(frozen=True, slots=True)
class Sink:
    """Where the rows of a query go: a path, what the options of a format name, or the terminal."""

    name: str
    query: str
    format: str
    path: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    mode: str | None = None

    @property
    def for_spark(self) -> bool:
        """Whether only Spark can write there."""
        return self.format not in (TERMINAL, *_WRITTEN) or self.remote

    @property
    def remote(self) -> bool:
        """Whether it is on another machine."""
        return self.path is not None and "://" in self.path

    def __str__(self) -> str:
        """Return where the rows go, for people."""
        return self.path or self.options.get("topic") or self.format


@dataclass(frozen=True, slots=True)
class Run:
    """How a pipeline runs."""

    stream: bool = False
    spark: bool | None = None
    checkpoint: str | None = None
    trigger: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Sources, queries over events as a program, clauses, rules, sinks.

    ``options`` are the arguments of ``fyke.match``.
    """

    file: Path
    run: Run
    options: Mapping[str, Any]
    sources: Mapping[str, Source]
    program: fyke.Program | None
    clauses: Mapping[str, RowPatternQuery]
    rules: fyke.Rules | None
    sinks: tuple[Sink, ...]

    @property
    def by_type(self) -> bool:
        """Whether each source is a type of events; otherwise a column says the type."""
        return self.options["type"] is None and self.options["time"] is not None

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the queries over events."""
        return () if self.program is None else tuple(self.program.queries)

    @property
    def results(self) -> list[str]:
        """The names of all results."""
        return [*self.labels, *self.clauses, *([RULES] if self.rules is not None else [])]

    @property
    def wanted(self) -> list[str]:
        """The results that sinks take, all if there are no sinks."""
        return list(dict.fromkeys(sink.query for sink in self.sinks)) or self.results

    @property
    def left_out(self) -> list[str]:
        """The results that no sink takes, and that no query reads whose result is taken."""
        waiting, needed = self.wanted, set()
        while waiting:
            name = waiting.pop()
            needed.add(name)
            if self.program is not None and name in self.program.queries:
                waiting += self.program.inputs(name)
        return [name for name in self.results if name not in needed]


def read_pipeline(file: Path) -> Pipeline:
    """Return the pipeline of a file.  Its paths are those seen from the folder of the file.

    Raises
    ------
    FykeError
        That names file, section and key.
    """
    top = read_toml(file)
    run = _run(top.section("run"), file)
    sources = {name: _source(section, file) for name, section in top.sections("source").items()}
    if not sources:
        raise top.wrong("[source.NAME]", "is missing: a pipeline has at least one source")
    queries = _queries(top, file)
    clauses = {name: each for name, each in queries.items() if isinstance(each, RowPatternQuery)}
    program = _program(top, [each for each in queries.values() if not isinstance(each, RowPatternQuery)])
    rules = _rules(top.section(RULES), run, file) if RULES in top.values else None
    if not queries and rules is None:
        raise top.wrong("[query.NAME]", "is missing: a pipeline has queries, a program or rules")
    options = _options(top.section("events"), run, over_rows=program is None and rules is None)
    made = Pipeline(file, run, options, sources, program, clauses, rules, ())
    sinks = [_sink(section, made) for section in top.sections("sink").values()]
    top.finish()
    return dataclasses.replace(made, sinks=tuple(sinks))


def _program(top: Section, queries: list[AnyQuery]) -> fyke.Program | None:
    try:
        return fyke.program(queries) if queries else None
    except FykeError as error:
        error.where = f"{top.file}: [query]: "  # type: ignore[attr-defined]
        raise


def _run(section: Section, file: Path) -> Run:
    stream = section.flag("stream") or False
    checkpoint = section.text("checkpoint")
    made = Run(
        stream,
        section.flag("spark"),
        None if checkpoint is None else _seen_from(file, checkpoint),
        section.text("trigger"),
        section.options("conf"),
    )
    section.finish()
    for key in ("checkpoint", "trigger"):
        if not stream and section.values.get(key) is not None:
            raise section.wrong(key, "is for streams, and this is a batch", "Add stream = true.")
    if stream and made.spark is False:
        raise section.wrong("spark", "is false, and only Spark runs streams")
    return made


def _source(section: Section, file: Path) -> Source:
    name = section.name.partition(".")[2]
    paths, format = section.texts("path"), section.text("format")
    options, columns = section.options("options"), section.text("columns")
    named = Named(tuple(_seen_from(file, path) for path in paths), format, options, columns)
    if not paths and not named.for_spark:
        raise section.wrong("path", "is missing")
    outer = section.section("map")
    mapped = tuple(_mapped(outer, key) for key in outer.values)
    section.finish()
    return Source(name, named, mapped)


def _mapped(outer: Section, name: str) -> Mapped:
    value = outer.values[name]
    if isinstance(value, str):
        return Mapped(name, value)
    if not isinstance(value, Mapping):
        raise outer.wrong(name, f"must be a column, or a table of column and type, found {shown(value)}")
    section = outer.section(name)
    source, kind, unit = (
        section.text("column"),
        section.text("type", tuple(KINDS)),
        section.text("unit", tuple(UNITS)),
    )
    constant = section.take("value", object)
    section.finish()
    if (source is None) == (constant is None):
        raise section.wrong("column", "or value must be there, and not both")
    if unit is not None and kind not in (None, "timestamp"):
        raise section.wrong("unit", f"is for timestamps, and the type is {kind}")
    return Mapped(name, source, "timestamp" if unit else kind, unit, constant)


def _options(section: Section, run: Run, *, over_rows: bool) -> dict[str, Any]:
    time, ties = section.texts("time"), section.texts("tie_breaker")
    if not time and not over_rows:
        raise section.wrong("time", "is missing: name the column of the time")
    if len(time) > 2:
        raise section.wrong("time", f"is one column, or a start and an end, found {', '.join(time)}")
    watermark = section.text("watermark")
    if run.stream and watermark is None:
        raise section.wrong("watermark", "is missing: say how late events may come", "Write '10 minutes'.")
    if not run.stream and watermark is not None:
        raise section.wrong("watermark", "is for streams, and this is a batch", "Add [run] stream = true.")
    made = {
        "time": time if len(time) == 2 else next(iter(time), None),
        "type": section.text("type"),
        "tie_breaker": list(ties) or None,
        "time_unit": section.text("time_unit", ("s", "ms", "us", "ns")),
        "output": section.text("matches", ("all", "non_overlap")) or "all",
        "engine": section.text("engine", ("auto", *ENGINES)) or "auto",
        "params": dict(section.take("params", Mapping) or {}) or None,
        "limits": _limits(section.section("limits")),
        "watermark": watermark,
    }
    section.finish()
    return made


def _limits(section: Section) -> Limits | None:
    known = {each.name for each in dataclasses.fields(Limits)}
    given: dict[str, Any] = {}
    for name in section.values:
        if name not in known:
            raise section.wrong(name, f"is no limit.{near_misses(name, known)}")
        value = section.take(name, object)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise section.wrong(name, f"must be a number, found {shown(value)}")
        given[name] = value
    return Limits(**given) if given else None


# --- queries ---------------------------------------------------------------------------------------


def _queries(top: Section, file: Path) -> dict[str, AnyQuery | RowPatternQuery]:
    found: dict[str, AnyQuery | RowPatternQuery] = {}
    if "program" in top.values:
        section = top.section("program")
        text, where = _text_of(section, file)
        for query in _parsed(section, where, lambda: parse_program(text)):
            if query.label is None or query.label in found:
                raise section.wrong("", "each query needs a label of its own, as in 'Name: PATTERN ...'")
            found[query.label] = query
    for name, section in top.sections("query").items():
        text, where = _text_of(section, file)
        parsed = _parsed(section, where, lambda text=text: fyke.parse(text))
        label = getattr(parsed, "label", None)
        if label not in (None, name):
            raise section.wrong(
                "", f"the query is labelled {label!r}", f"Let the section be [query.{label}]."
            )
        if name in found or name == RULES:
            raise section.wrong("", "there is another result of that name")
        found[name] = (
            parsed if isinstance(parsed, RowPatternQuery) else dataclasses.replace(parsed, label=name)
        )
    return found


def _text_of(section: Section, file: Path) -> tuple[str, str]:
    """Return the text of a query or program, and the file it is from."""
    text, path = section.text("text"), section.text("file")
    section.finish()
    if (text is None) == (path is None):
        raise section.wrong("text", "or file must be there, and not both")
    if text is not None:
        return text, ""
    place = _seen_from(file, str(path))
    try:
        return Path(place).read_text(encoding="utf-8"), place
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise section.wrong("file", f"{place!r} cannot be read: {why}") from error


def _parsed(section: Section, where: str, parse: Any) -> Any:
    try:
        return parse()
    except QueryError as error:
        error.where = f"{section.file}: [{section.name}] {f'{where}: ' if where else ''}"  # type: ignore[attr-defined]
        raise


def _rules(section: Section, run: Run, file: Path) -> fyke.Rules:
    path = section.needed("path")
    if run.stream:
        raise section.wrong("", "rules run on batches, and this is a stream", "Make them queries.")
    section.finish()
    try:
        return fyke.rules(Path(_seen_from(file, path)))
    except FykeError as error:
        raise section.wrong("path", error.message, error.remedy) from error


# --- sinks -----------------------------------------------------------------------------------------


def _sink(section: Section, pipeline: Pipeline) -> Sink:
    run, file, results = pipeline.run, pipeline.file, pipeline.results
    name = section.name.partition(".")[2]
    query = section.text("query") or name
    if query not in results:
        said = f"there is no query {query!r}.{near_misses(query, results)}"
        raise section.wrong("query", said, f"There are {listed(results)}.")
    path, format = section.text("path"), section.text("format")
    mode = section.text("mode", _STREAM_MODES if run.stream else _MODES[:2])
    options = section.options("options")
    section.finish()
    kind = format if format is not None else _kind_of(section, path)
    if kind in (*OWN_FORMATS, "delta") and path is None:
        raise section.wrong("path", f"is missing: where to write {kind}")
    if run.stream and kind == "ipc":
        raise section.wrong("path", "Spark does not write Arrow files", "Let it end in .parquet.")
    if run.stream and kind != TERMINAL and run.checkpoint is None:
        raise OptionError(
            f"{file}: [run] checkpoint: is missing: a stream remembers there how far it has come",
            remedy="Name a folder.",
        )
    return Sink(name, query, kind, None if path is None else _seen_from(file, path), options, mode)


def _kind_of(section: Section, path: str | None) -> str:
    if path is None:
        return TERMINAL
    kind = format_of(Path(path))
    if kind is None or Path(path).suffix == ".gz":
        said = f"{path!r} ends in none of .parquet, .csv, .json, .jsonl or .arrow"
        raise section.wrong("path", said, "Say format = 'parquet', or another format.")
    return kind


def _seen_from(file: Path, path: str) -> str:
    """Return a path of the file as seen from here."""
    return path if "://" in path else str(file.parent / path)
