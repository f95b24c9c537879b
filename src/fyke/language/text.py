"""Text to queries, in whichever language it is written; a program is several of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from fyke.errors import QueryTooLargeError, UnsupportedQueryError
from fyke.language import dsms, row_pattern_text, sase
from fyke.language.clauses import check_size
from fyke.language.query import Query
from fyke.language.relational import RelationalQuery
from fyke.language.row_patterns import RowPatternQuery
from fyke.limits import Limits

AnyQuery = Query | RelationalQuery
"""A query over events, in the languages of SASE+ and [T]."""

MOST_QUERIES = 256  # of a program: each keeps its text, with its place in the whole

_LONGEST_KEPT = 10_000  # characters
_ENDING = "; \t\r\n"
_DEFAULTS = Limits()
_OPENER = re.compile(r"--|/\*|['\"`;]")
_CLOSER = {"--": "\n", "/*": "*/"}
_NAME = r"""(?:[^\W\d]\w*|"[^"]*(?:""[^"]*)*"|`[^`]*(?:``[^`]*)*`)"""
_LABEL = rf"(?:{_NAME}\s*:\s*)?"
_CLAUSE = re.compile(r"\s*match_recognize\s*\(", re.IGNORECASE)
_SELECT = re.compile(rf"\s*{_LABEL}select\b(?!\s*:)", re.IGNORECASE)
# A ';' between the streams of FROM is followed by a stream, one between queries by a query or nothing.
_NEXT_QUERY = re.compile(rf"\s*(?:$|;|{_LABEL}(?:select|pattern)\b(?!\s*[:;.,]))", re.IGNORECASE)


def parse(text: str, limits: Limits = _DEFAULTS) -> AnyQuery | RowPatternQuery:
    """Return the query that ``text`` states.

    A text whose first word, after its label, is SELECT is in the language of [T] 2.1.6
    (:mod:`fyke.language.dsms`); a MATCH_RECOGNIZE clause in that of SQL's row patterns
    (:mod:`fyke.language.row_pattern_text`); any other is in SASE+ (:mod:`fyke.language.sase`).  It may
    end with a semicolon.

    Takes time linear in the text, runs no code, and raises nothing but errors of the
    :class:`~fyke.errors.QueryError` tree, each with its place in the text.
    """
    check_size(text, limits)
    return (_kept if len(text) <= _LONGEST_KEPT else _parse)(text, limits)


def is_clause(text: str) -> bool:
    """Say whether a text is a MATCH_RECOGNIZE clause that stands alone."""
    return _CLAUSE.match(_without_comments(text)) is not None


def parse_event_query(text: str, limits: Limits = _DEFAULTS) -> AnyQuery:
    """Return the query over events that ``text`` states, as :func:`parse` does; a clause is refused."""
    query = parse(text, limits)
    if isinstance(query, RowPatternQuery):
        raise UnsupportedQueryError(
            "a MATCH_RECOGNIZE clause is about rows, and this takes a query over events",
            remedy="Write a query over events, as in PATTERN SEQ(A a, B b).",
        )
    return query


def _parse(text: str, limits: Limits) -> AnyQuery | RowPatternQuery:
    bare = _without_comments(text)
    ended = bare.rstrip(_ENDING)
    # What ends a query in a file or a prompt; the places in front of it stay.
    text = text[: len(ended)] + bare[len(ended) :].replace(";", " ") if ";" in bare[len(ended) :] else text
    if _CLAUSE.match(bare):
        return row_pattern_text.parse(text, limits)
    return dsms.parse(text, limits) if _SELECT.match(bare) else sase.parse(text, limits)


# The same text comes again and again, with every batch of a stream; queries are never changed.
_kept = lru_cache(maxsize=256)(_parse)


def parse_program(text: str, limits: Limits = _DEFAULTS) -> list[AnyQuery]:
    """Return the queries of a text, which are separated by ``;``, with their places in the whole of it."""
    check_size(text, limits)
    return [parse_event_query(part, limits) for part in _parts(text)]


def _parts(text: str) -> list[str]:
    """Return the text of each query, behind blanks that bring it to its line and column."""
    bare = _without_comments(text)
    parts = []
    start = 0
    for end in [*_separators(bare), len(text)]:
        if bare[start:end].strip():
            line = text.rfind("\n", 0, start) + 1
            parts.append("\n" * text.count("\n", 0, start) + " " * (start - line) + text[start:end])
        start = end + 1
        if len(parts) > MOST_QUERIES:
            raise QueryTooLargeError(
                f"a program has at most {MOST_QUERIES} queries", remedy="Make several programs of it."
            )
    return parts


def _without_comments(text: str) -> str:
    """Return the text with blanks in place of comments."""
    parts, done = [], 0
    for opener, start, end in _stretches(text):
        if opener == "--" or (opener == "/*" and text.endswith("*/", start + 2, end)):
            parts += [text[done:start], " " * (end - start)]
            done = end
    return "".join([*parts, text[done:]])


def _separators(bare: str) -> list[int]:
    found = [start for opener, start, _ in _stretches(bare) if opener == ";"]
    return [start for start in found if _NEXT_QUERY.match(bare, start + 1)]


def _stretches(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield comments, quoted text and ``;`` by what opens them, with start and end, in one pass.

    What is never closed goes to the end of the text: the parser will say so.
    """
    at = 0
    while found := _OPENER.search(text, at):
        opener, start, at = found[0], found.start(), found.end()
        if opener != ";":
            closer = _CLOSER.get(opener, opener)
            closed = text.find(closer, at)
            at = len(text) if closed < 0 else closed + (0 if closer == "\n" else len(closer))
        yield opener, start, at
