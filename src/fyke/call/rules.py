"""Rules as data: queries by name and version, from files and tables, that run together over events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from fyke.call.events import Events, take_events
from fyke.call.files import described, format_of, found_files, read_files
from fyke.call.rule_results import RuleResults
from fyke.call.run_rules import run_rules
from fyke.errors import FykeError, InputError, OptionError, RuleError, listed, near_misses, shown
from fyke.html import html_table
from fyke.language.text import AnyQuery, parse_event_query
from fyke.limits import Limits
from fyke.plan.outputs import OUTPUTS

_COLUMNS = ("name", "version", "text", "active")
_ENDINGS = (".fyke", ".sase", ".txt")
_UNTAKEN = ("metrics", "timeouts", "watermark", "statistics")


@dataclass(frozen=True, slots=True)
class Rule:
    """A query with a name and a version.  ``error`` says what is wrong with it; then it has no query."""

    name: str
    version: str
    text: str
    query: AnyQuery | None = None
    error: FykeError | None = None

    def __str__(self) -> str:
        """Return the name and the version."""
        return f"{self.name} (version {self.version})"


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules to run together.  ``broken`` are those that are no queries, ``inactive`` those not to run."""

    rules: tuple[Rule, ...]
    broken: tuple[Rule, ...] = ()
    inactive: tuple[Rule, ...] = field(default=())

    def __len__(self) -> int:
        """Return how many rules there are to run."""
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        """Yield the rules to run."""
        return iter(self.rules)

    def __repr__(self) -> str:
        """Return the names, and what is wrong with broken rules."""
        lines = [f"{len(self.rules)} rule{'s' * (len(self.rules) != 1)}: {listed(map(str, self.rules))}"]
        lines += [f"broken: {rule}: {str(rule.error).splitlines()[0]}" for rule in self.broken]
        if self.inactive:
            lines.append(f"not active: {listed(map(str, self.inactive))}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        states = [(rule, "") for rule in self.rules]
        states += [(rule, f"broken: {str(rule.error).splitlines()[0]}") for rule in self.broken]
        states += [(rule, "not active") for rule in self.inactive]
        rows = [(rule.name, rule.version, " ".join(rule.text.split()), state) for rule, state in states]
        return html_table(("rule", "version", "query", ""), rows)

    def run(
        self,
        events: Events,
        *,
        time: str | Sequence[str],
        done: Callable[[int, int], None] | None = None,
        **options: Any,
    ) -> RuleResults:
        """Return what the rules find in some events; the options are those of :func:`fyke.match`.

        The events are read once.  On a DataFrame, rules that are divided by the same attributes, or by these
        and more, share one scan and one shuffle; nothing runs until the results are asked for rows.  A rule
        that does not fit the events, or fails while it runs, is in ``failed`` of the results and stops no
        other.  On tables ``done`` is called after each rule with how many have run, of how many.
        """
        for name in _UNTAKEN:
            if options.get(name):
                raise OptionError(
                    f"rules take no option {name!r}", remedy="Run the query by itself with fyke.match."
                )
        if (found := OUTPUTS.get(options.get("output", ""))) is not None and found.shared:
            raise OptionError(f"rules take no output={options['output']!r}", remedy="Leave output out.")
        queries = {
            number: (rule.name, rule.version, rule.query)
            for number, rule in enumerate(self.rules)
            if rule.query is not None
        }
        before = {(rule.name, rule.version): rule.error for rule in self.broken if rule.error is not None}
        return run_rules(take_events(events), queries, {"time": time, **options}, before, done)


def rules(source: Any, *, limits: Limits | None = None) -> Rules:
    """Load rules: queries with a name and a version, to run together with :meth:`Rules.run`.

    Parameters
    ----------
    source
        A folder or a glob of files, each with a query (``.fyke``, ``.sase``, ``.txt``): its name is that
        of the file, and it may begin with comments ``-- version: 2`` and ``-- active: false``.  Or a table of
        any kind, a file of one, or a list of dicts, with the columns ``name`` and ``text``, and ``version``
        and ``active`` if there are any.  Or a dict ``{name: text}``.
    limits
        Bounds on the size of each text, see :class:`fyke.Limits`.

    Raises
    ------
    RuleError
        If two active rules have the same name and version, or one has no name.
    InputError
        If there are no rules in ``source``.
    """
    bounds = limits or Limits()
    loaded = [_loaded(row, number, bounds) for number, row in enumerate(_rows(source))]
    if not loaded:
        raise InputError(f"there are no rules in {_named(source)}")
    active = [rule for rule, runs in loaded if runs]
    seen: set[tuple[str, str]] = set()
    for rule in active:
        if (rule.name, rule.version) in seen:
            raise RuleError(
                f"two active rules have the name {rule.name!r} and the version {rule.version!r}",
                remedy="Rename one, give it another version, or set its active to false.",
            )
        seen.add((rule.name, rule.version))
    return Rules(
        tuple(rule for rule in active if rule.error is None),
        tuple(rule for rule in active if rule.error is not None),
        tuple(rule for rule, runs in loaded if not runs),
    )


def _loaded(row: Mapping[str, Any], number: int, limits: Limits) -> tuple[Rule, bool]:
    """Return the rule of a row, and whether it is active."""
    name, version, text = row.get("name"), row.get("version"), row.get("text")
    if not isinstance(name, str) or not name:
        raise RuleError(
            f"rule {number + 1} has no name, found {shown(name)}", remedy="Give each rule a name."
        )
    told = "1" if version is None else str(version)
    runs = row.get("active")
    if not isinstance(runs, bool) and runs is not None:
        raise RuleError(f"active of the rule {name!r} is true or false, found {shown(runs)}")
    try:
        if not isinstance(text, str):
            raise RuleError(f"the rule {name!r} has no text, found {shown(text)}")
        return Rule(name, told, text, query=parse_event_query(text, limits)), runs is not False
    except FykeError as error:
        return Rule(name, told, text if isinstance(text, str) else "", error=error), runs is not False


def _rows(source: Any) -> Iterable[Mapping[str, Any]]:
    """Return the rows of a table of rules, or the files of a folder as such rows."""
    if isinstance(source, Mapping):
        return [{"name": name, "text": text} for name, text in source.items()]
    if isinstance(source, (str, Path)):
        return _rows_of_files(source)
    taken = take_events(source)
    if isinstance(taken.events, Mapping):
        raise InputError(f"rules are a table, a folder or a dict of texts, found {described(source)}")
    return _rows_of_table(taken.events.toArrow() if taken.on_spark else taken.events)


def _rows_of_files(source: str | Path) -> Iterable[Mapping[str, Any]]:
    found = found_files(source)
    files = sorted(each for path in found for each in (path.iterdir() if path.is_dir() else [path]))
    texts = [file for file in files if file.suffix in _ENDINGS]
    if texts:
        return [_row_of_file(file) for file in texts]
    if files and all(format_of(file) is not None for file in files):
        return _rows_of_table(read_files(files))
    if isinstance(source, str) and not found and "/" not in source and "." not in source:
        return _rows_of_table(take_events(source).events.toArrow())  # a view of Spark
    raise InputError(
        f"there are no rules in {shown(str(source))}",
        remedy=f"Rules are files that end in {listed(_ENDINGS)}, or a table of them.",
    )


def _row_of_file(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the rule {str(file)!r} cannot be read: {error}") from error
    row: dict[str, Any] = {"name": file.stem, "text": text}
    for line in text.splitlines():
        words = line.strip().removeprefix("--").split(":", 1)
        if not line.strip().startswith("--"):
            break
        if len(words) == 2 and words[0].strip() == "version":
            row["version"] = words[1].strip()
        if len(words) == 2 and words[0].strip() == "active":
            row["active"] = {"true": True, "false": False}.get(words[1].strip().lower(), words[1].strip())
    return row


def _rows_of_table(table: pa.Table) -> list[dict[str, Any]]:
    for name in ("name", "text"):
        if name not in table.column_names:
            raise InputError(
                f"the table of rules has no column {name!r}.{near_misses(name, table.column_names)}",
                remedy="Its columns are name and text, and version and active if there are any.",
            )
    rows: list[dict[str, Any]] = table.select([n for n in _COLUMNS if n in table.column_names]).to_pylist()
    return rows


def _named(source: Any) -> str:
    return shown(str(source)) if isinstance(source, (str, Path)) else described(source)
