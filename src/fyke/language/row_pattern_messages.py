"""What is said about the text of a MATCH_RECOGNIZE clause that the parser cannot read."""

from __future__ import annotations

import re
from collections.abc import Set

from fyke.errors import AggregateError, QueryError, UnsupportedQueryError, near_misses
from fyke.language.syntax_errors import Dialect, place_at

_WORDS = {
    "_MATCH_RECOGNIZE": "MATCH_RECOGNIZE",
    "_PARTITION": "PARTITION BY",
    "_ORDER": "ORDER BY",
    "_BY": "BY",
    "_MEASURES": "MEASURES",
    "_ONE": "ONE ROW PER MATCH",
    "_ALL": "ALL ROWS PER MATCH",
    "_ROW": "ROW",
    "_ROWS": "ROWS",
    "_PER": "PER",
    "_MATCH": "MATCH",
    "_MATCHES": "MATCHES",
    "_AFTER": "AFTER MATCH SKIP",
    "_SKIP": "SKIP",
    "_PAST": "PAST LAST ROW",
    "_TO": "TO",
    "_PATTERN": "PATTERN",
    "_SUBSET": "SUBSET",
    "_DEFINE": "DEFINE",
    "COMPARISON": "'='",
    "CARET": "'^'",
    "DOLLAR": "'$'",
    "_EXCLUDE": "'{-'",
    "_PERMUTE": "PERMUTE",
    "VBAR": "'|'",
    "_EXCLUDED": "'-}'",
}
_CLAUSES = (
    "PARTITION BY",
    "ORDER BY",
    "MEASURES",
    "ONE ROW PER MATCH",
    "AFTER MATCH SKIP",
    "PATTERN",
    "SUBSET",
)


_STARTS = {clause.split()[0] for clause in (*_CLAUSES, "ALL", "DEFINE")}
_LAST_WORD = re.compile(r"([^\W\d]\w*)\s*$")


def _remedy(text: str, position: int, lexeme: str, accepted: Set[str]) -> str:
    """Return what to do, for the slips that can be told from what could stand there."""
    words = {word.split()[0] for name, word in _WORDS.items() if name in accepted and word.isupper()}
    near = near_misses(lexeme, sorted(words)) if lexeme.isidentifier() else ""
    if near:
        return near.strip()
    before = _LAST_WORD.search(text[max(0, position - 100) : position])  # a clause may be read as a name
    if {lexeme.upper(), before[1].upper() if before else ""} & _STARTS:
        return f"The clauses come in the order {', '.join(_CLAUSES)}, DEFINE, each at most once."
    if "_PER" in accepted or "_SHOW" in accepted:
        return "Write ONE ROW PER MATCH or ALL ROWS PER MATCH."
    if "_EXCLUDED" in accepted and not lexeme:
        return "An exclusion is closed with '-}'."
    if lexeme == "|" or (lexeme in (")", ",") and "_PERMUTE" in accepted):
        return "An alternative that takes no row is written ()."
    return ""


def _special(text: str, position: int, lexeme: str) -> QueryError | None:
    """Return the error for what SQL has elsewhere and a clause has not."""
    before = _LAST_WORD.search(text[max(0, position - 100) : position])
    if before and before[1].lower() in ("select", "exists"):  # read as the name of a column or function
        position, lexeme = position - len(before[0]), before[1]
    place = place_at(text, position, len(lexeme))
    lexeme = lexeme.lower()
    if lexeme in ("filter", "order"):
        return AggregateError(
            f"an aggregate of a row pattern takes no {'FILTER' if lexeme == 'filter' else 'ORDER BY'}",
            place=place,
            remedy="It is over the rows of a variable in their order; CASE can choose among them.",
        )
    if lexeme in ("over",):
        return UnsupportedQueryError(
            "a window function has no meaning in a row pattern",
            place=place,
            remedy="Leave OVER out: an aggregate is over the rows of the match.",
        )
    if lexeme in ("select", "exists"):
        return UnsupportedQueryError(
            "a row pattern takes no subquery",
            place=place,
            remedy="Join what it selects to the rows before, as a column.",
        )
    return None


ROW_PATTERNS = Dialect(_WORDS, _remedy, _special)
