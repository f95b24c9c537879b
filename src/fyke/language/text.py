"""Text to queries, in whichever of the two languages it is written; a program is several of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fyke.language import dsms, sase
from fyke.language.clauses import check_size
from fyke.language.query import Query
from fyke.language.relational import RelationalQuery
from fyke.limits import Limits

AnyQuery = Query | RelationalQuery

_DEFAULTS = Limits()
_SKIPPED = r"(?:\s|--[^\n]*(?:\n|$)|/\*[\s\S]*?\*/)*"
_NAME = r"""(?:[^\W\d]\w*|"[^"]*(?:""[^"]*)*"|`[^`]*(?:``[^`]*)*`)"""
_LABEL = rf"(?:{_NAME}{_SKIPPED}:{_SKIPPED})?"
_SELECT = re.compile(rf"{_SKIPPED}{_LABEL}select\b(?!{_SKIPPED}:)", re.IGNORECASE)
# A ';' between the streams of FROM is followed by a stream, one between queries by a query or nothing.
_NEXT_QUERY = re.compile(
    rf"{_SKIPPED}(?:$|;|{_LABEL}(?:select|pattern)\b(?!{_SKIPPED}[:;.,]))", re.IGNORECASE
)
_TOKEN = re.compile(
    r"""--[^\n]*|/\*[\s\S]*?\*/|'[^']*(?:''[^']*)*'|"[^"]*(?:""[^"]*)*"|`[^`]*(?:``[^`]*)*`|;"""
)


def parse(text: str, limits: Limits = _DEFAULTS) -> AnyQuery:
    """Return the query that ``text`` states.

    A text whose first word, after its label, is SELECT is in the language of [T] 2.1.6
    (:mod:`fyke.language.dsms`); any other is in SASE+ (:mod:`fyke.language.sase`).

    Takes time linear in the text, runs no code, and raises nothing but errors of the
    :class:`~fyke.errors.QueryError` tree, each with its place in the text.
    """
    check_size(text, limits)
    return dsms.parse(text, limits) if _SELECT.match(text) else sase.parse(text, limits)


def parse_program(text: str, limits: Limits = _DEFAULTS) -> list[AnyQuery]:
    """Return the queries of a text, which are separated by ``;``, with their places in the whole of it."""
    check_size(text, limits)
    return [parse(part, limits) for part in _parts(text)]


def _parts(text: str) -> Iterator[str]:
    """Yield the text of each query, behind blanks that bring it to its line and column."""
    start = 0
    for end in [*_separators(text), len(text)]:
        part = text[start:end]
        if re.fullmatch(_SKIPPED, part) is None:
            before = text[:start]
            line = before.rfind("\n") + 1
            yield "\n" * before.count("\n") + " " * (start - line) + part
        start = end + 1


def _separators(text: str) -> list[int]:
    found = (token for token in _TOKEN.finditer(text) if token[0] == ";")
    return [token.start() for token in found if _NEXT_QUERY.match(text, token.end())]
