"""What a command asks: a query or rules, and the events that they are about."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import fyke
from fyke.call.files import found_files
from fyke.command.options import pairs, query_text, value_of
from fyke.command.show import working
from fyke.command.source import Named, named_events, take_frames, take_tables
from fyke.errors import InputError, OptionError, QueryError
from fyke.language.row_patterns import RowPatternQuery
from fyke.language.text import AnyQuery
from fyke.logical.returns import START


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, with the file it is from: ``where`` begins errors about it."""

    query: AnyQuery | RowPatternQuery
    where: str

    @property
    def clause(self) -> bool:
        """Whether it is a MATCH_RECOGNIZE clause, which is about rows and needs no time."""
        return isinstance(self.query, RowPatternQuery)

    def over_events(self, command: str) -> AnyQuery:
        """Return the query for a command that takes no clause.

        Raises
        ------
        OptionError
        """
        if isinstance(self.query, RowPatternQuery):
            raise OptionError(
                f"{command} is for queries over events, and this is a MATCH_RECOGNIZE clause",
                remedy="fyke match and fyke explain take clauses.",
            )
        return self.query


def asked_query(query: str | None) -> Asked:
    """Return the query of ``--query``, a file or a text.

    Raises
    ------
    OptionError, QueryError
    """
    if query is None:
        raise OptionError("no query is given", remedy="Give --query FILE, or its text.")
    text, where = query_text(query)
    with pointing_at(where):
        return Asked(fyke.parse(text), where)


def asked_rules(rules: str) -> fyke.Rules:
    """Return the rules of ``--rules``: a folder of files, or a table.

    Raises
    ------
    InputError, RuleError
    """
    if not found_files(rules):
        raise InputError(f"there are no rules at {rules!r}: no such file or folder")
    return fyke.rules(rules)


@contextlib.contextmanager
def pointing_at(where: str) -> Iterator[None]:
    """Let errors about a query name the file it is from."""
    try:
        yield
    except QueryError as error:
        error.where = where  # type: ignore[attr-defined]
        raise


def asked_events(
    events: Sequence[str] | None, format: str | None, source: Sequence[str] | None, columns: str | None
) -> dict[str, Named]:
    """Return the events that the arguments name.

    Raises
    ------
    InputError, OptionError
    """
    named = named_events(events or (), format=format, options=pairs(source, "--source"), columns=columns)
    if not named:
        raise InputError("no events are named", remedy="Give files, folders or globs.")
    return named


def take(named: Mapping[str, Named], on: bool, settings: Mapping[str, str], *, rows: bool = True) -> Any:
    """Return the events as tables or, ``on`` Spark, as DataFrames."""
    with working("starting Spark" if on else "reading"):
        return take_frames(named, settings) if on else take_tables(named, rows=rows)


def asked_part(
    key: Sequence[str] | None, first: str | None, last: str | None
) -> tuple[dict[str, Any] | None, tuple[Any, Any] | None]:
    """Return the key and the interval of ``--key``, ``--from`` and ``--to``."""
    keys = {name: value_of(text) for name, text in pairs(key, "--key").items()}
    times = tuple(None if each is None else _time_of(each) for each in (first, last))
    return keys or None, None if times == (None, None) else (times[0], times[1])


def _time_of(text: str) -> Any:
    return int(text) if text.lstrip("-").isdigit() else text


def first_rows(found: Any, most: int | None) -> tuple[pa.Table, int]:
    """Return the first rows of a result, all of them for None, and how many there are."""
    if isinstance(found, pa.Table):
        return (found if most is None else found.slice(0, most)), found.num_rows
    if most is None:
        rows = found.toArrow()
        return rows, rows.num_rows
    kept = found.cache()
    total = kept.count()
    order = [name for name in (START, "match_id") if name in kept.columns]
    return (kept.orderBy(*order) if order else kept).limit(most).toArrow(), total
