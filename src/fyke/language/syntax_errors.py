"""What the parser met and what it could have taken, in words a person understands, with a remedy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Set
from typing import NamedTuple

from lark.exceptions import UnexpectedInput

from fyke.errors import Place, QueryError, QuerySyntaxError, near_misses
from fyke.language.ast import Strategy
from fyke.language.rules import INDEX_REMEDY

_PAIRS = {")": "(", "]": "[", "}": "{"}
_SKIPPED = r"""--[^\n]*|/\*[\s\S]*?\*/|'[^']*(?:''[^']*)*'|"[^"]*(?:""[^"]*)*"|`[^`]*(?:``[^`]*)*`"""
# A comment that is never closed is read once, to the end, and not again from each "/*" in it.
_BRACKETS = re.compile(rf"({_SKIPPED}|/\*[\s\S]*)|[()\[\]{{}}]")
_LEXEME = re.compile(rf"({_SKIPPED})|[^\W\d]\w*|[0-9]+(?:\.[0-9]+)?|[<>!=]=|<>|&&|\|\||\.\.|[\s\S]")
_UNKNOWN_STRATEGY = re.compile(r"\bwhere\s+([^\W\d]\w*)\s*(?:\([^(){}]*\)\s*)?$", re.IGNORECASE)
_LAST_WORD = re.compile(r"([^\W\d]\w*)\W*$")
_COMPARISON = re.compile("[=<>!≠≤≥]")
_QUOTES = {"'": "quote", '"': "double quote", "`": "backtick"}

# Groups of terminals that read better as one thing, most telling first: if the first terminal of the
# key is acceptable, the group's word stands for all of the terminals listed.
_GROUPS = (
    ("_PATTERN", "PATTERN", "TYPE QUOTED"),
    ("_SEQ", "a pattern", "_FUNNEL TYPE QUOTED ANY AND OR NOT _TILDE LBRACE LPAR"),
    ("TYPE", "an event type", "ANY QUOTED"),
    (
        "STRING",
        "an expression",
        "INT FLOAT PERCENTAGE TRUE FALSE NULL TIMESTAMP DATE VARIABLE QUOTED LPAR LSQB MINUS NOT PARAMETER "
        "_CAST _CASE _DISTINCT",
    ),
    (
        "SLASH",
        "an operator",
        "COMPARISON _IN _BETWEEN _LIKE _RLIKE _IS NOT PLUS MINUS STAR PERCENT DOT LSQB LPAR UNIT",
    ),
    ("QMARK", "a quantifier", "PLUS STAR LBRACE"),
    ("VARIABLE", "a variable name", "TIMESTAMP DATE QUOTED"),
    ("WORD", "a name", "QUOTED"),
    ("FLOAT", "a number", "INT PLUS MINUS"),
)
_WORDS = {
    "_AS": "AS",
    "_WHEN": "WHEN",
    "_THEN": "THEN",
    "_ELSE": "ELSE",
    "_END": "END",
    "AND": "AND",
    "OR": "OR",
    "NOT": "NOT",
    "NULL": "NULL",
    "_IN": "IN",
    "_BETWEEN": "BETWEEN",
    "_LIKE": "LIKE",
    "_RLIKE": "RLIKE",
    "STRATEGY": "a selection strategy",
    "UNIT": "a unit of time",
    "INT": "a whole number",
    "STRING": "a string",
    "_WHERE": "WHERE",
    "_WITHIN": "WITHIN",
    "_RETURN": "RETURN",
    "COLON": "':'",
    "COMMA": "','",
    "DOT": "'.'",
    "DOTS": "'..'",
    "LPAR": "'('",
    "RPAR": "')'",
    "RSQB": "']'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "PLUS": "'+'",
    "MINUS": "'-'",
    "STAR": "'*'",
    "$END": "the end of the query",
}
_KEYWORDS = {
    **{name: name.lstrip("_") for name in ("_PATTERN", "_WHERE", "_WITHIN", "_RETURN", "_SEQ", "_AS")},
    **{
        name: name.lstrip("_")
        for name in ("AND", "OR", "NOT", "_IN", "_BETWEEN", "_LIKE", "_RLIKE", "_IS", "NULL")
    },
}


class Dialect(NamedTuple):
    """What the messages of a language have of their own: words for its terminals, remedies for its slips.

    ``remedy`` takes the text, the position, the lexeme there, and the terminals that could have stood there.
    ``special`` is the error for what the language knows but does not take, from what ``remedy`` takes first.
    """

    words: Mapping[str, str]
    remedy: Callable[[str, int, str, Set[str]], str]
    special: Callable[[str, int, str], QueryError | None] = lambda _text, _position, _lexeme: None


def explain(error: UnexpectedInput, text: str, accepted: Set[str], dialect: Dialect) -> QueryError:
    """Return the error for what the parser met, given the terminals it could have taken there."""
    position = _position(error, text)
    found = _LEXEME.match(text, position)
    lexeme = found.group() if found else ""
    place = place_at(text, position, len(lexeme.split("\n")[0]))
    for special in (_unclosed_quote, _unknown_strategy):
        told = special(text, position, lexeme, place)
        if told is not None:
            return told
    known = dialect.special(text, position, lexeme)
    if known is not None:
        return known
    shown = _shown(lexeme) if lexeme else "end of the query"
    message = f"unexpected {shown}; expected {_listed(_expected_words(accepted, dialect.words))}"
    return QuerySyntaxError(message, place=place, remedy=dialect.remedy(text, position, lexeme, accepted))


def bracket_nesting(text: str, deepest: int) -> Place | None:
    """Return the place of the first bracket nested deeper than ``deepest``, or None."""
    depth = 0
    for bracket, position in _brackets(text):
        depth = max(0, depth - 1) if bracket in _PAIRS else depth + 1
        if depth > deepest:
            return place_at(text, position, 1)
    return None


def place_at(text: str, position: int, length: int) -> Place:
    """Return the place of a position in the text, which may be its end."""
    start = text.rfind("\n", 0, position) + 1
    return Place(text.count("\n", 0, position) + 1, position - start + 1, max(1, length))


def _brackets(text: str) -> Iterator[tuple[str, int]]:
    for found in _BRACKETS.finditer(text):
        if not found.group(1):
            yield found.group(), found.start()


def _position(error: UnexpectedInput, text: str) -> int:
    token = getattr(error, "token", None)
    if token is not None and token.type == "$END":
        return len(text.rstrip())
    return error.pos_in_stream or 0


def _shown(lexeme: str) -> str:
    short = lexeme if len(lexeme) <= 40 else lexeme[:40] + "..."
    if lexeme[0] in _QUOTES and len(lexeme) > 1:
        return short
    return f"'{short}'" if lexeme.isprintable() else f"character U+{ord(lexeme[0]):04X}"


def _expected_words(accepted: Set[str], own: Mapping[str, str]) -> list[str]:
    left = set(accepted)
    words = []
    for lead, word, members in _GROUPS:
        if lead in left:
            left -= {lead, *members.split()}
            words.append(word)
    return words + [word for name, word in {**_WORDS, **own}.items() if name in left]


def _listed(words: list[str]) -> str:
    return ", ".join(words[:-1]) + " or " + words[-1] if len(words) > 1 else "".join(words)


# --- remedies for common slips ----------------------------------------------------------------


def _unclosed_quote(text: str, position: int, lexeme: str, place: Place) -> QuerySyntaxError | None:
    if lexeme in _QUOTES:
        return QuerySyntaxError(
            f"this {_QUOTES[lexeme]} is never closed",
            place=place,
            remedy=f"Close it with {lexeme}; inside, write {lexeme * 2} for one.",
        )
    if text.startswith("/*", position):
        return QuerySyntaxError("this comment is never closed", place=place, remedy="Close it with */.")
    return None


def _unknown_strategy(text: str, position: int, lexeme: str, place: Place) -> QuerySyntaxError | None:
    head = _UNKNOWN_STRATEGY.search(text, max(0, position - 1000), position) if lexeme == "{" else None
    if head is None:
        return None
    known = [strategy.value for strategy in Strategy]
    name = head.group(1)
    return QuerySyntaxError(
        f"unknown selection strategy {name!r}",
        place=place_at(text, head.start(1), len(name)),
        remedy="The strategies are " + ", ".join(known) + "." + near_misses(name, known),
    )


def sase_remedy(text: str, position: int, lexeme: str, accepted: Set[str]) -> str:
    """Return what to do, for the slips that can be told from the place and what could stand there."""
    keywords = [word for name, word in _KEYWORDS.items() if name in accepted]
    if lexeme and (near := near_misses(lexeme, keywords)):
        return near.strip()
    return (
        _remedy_of_word_before(text[max(0, position - 200) : position], lexeme, accepted)
        or _remedy_of_bracket(text, position, lexeme)
        or _remedy_of_clause(lexeme, accepted)
    )


def _remedy_of_word_before(before: str, lexeme: str, accepted: Set[str]) -> str:
    """``PATERN SEQ(...)`` reads as a label, and ``SEQQ(`` as a type: the slip is the word before."""
    found = _LAST_WORD.search(before)
    word = found.group(1) if found else ""
    if "COLON" in accepted:
        start = "A query starts with PATTERN, or with a label, as in 'Name: PATTERN ...'."
        return near_misses(word, ["PATTERN"]).strip() or start
    if "QMARK" not in accepted:
        return ""
    if lexeme == "(":
        return near_misses(word, ["SEQ", "AND", "OR", "NOT", "FUNNEL"]).strip()
    return f"Every event has a variable, as in '{word} {word[0].lower()}'." if word else ""


def _remedy_of_bracket(text: str, position: int, lexeme: str) -> str:
    open_brackets = _open_brackets(text, position)
    if not open_brackets:
        return ""
    bracket, at = open_brackets[-1]
    place = place_at(text, at, 1)
    if not lexeme:
        return f"The '{bracket}' at line {place.line}, column {place.column} is never closed."
    if _PAIRS.get(lexeme, bracket) != bracket:
        return f"Close the '{bracket}' at line {place.line}, column {place.column} first."
    return INDEX_REMEDY if bracket == "[" and _indexes(text, at) else ""


def _remedy_of_clause(lexeme: str, accepted: Set[str]) -> str:
    if "FLOAT" in accepted and "STRING" not in accepted:
        return "WITHIN takes a number and a unit, as in WITHIN 12 hours or WITHIN 100 EVENTS."
    if lexeme.lower() in ("pattern", "where", "within") and "$END" in accepted:
        return "The clauses come in the order PATTERN, WHERE, WITHIN, RETURN, each at most once."
    if "AND" in accepted and "OR" in accepted and "_SEQ" not in accepted:
        if lexeme[:1] in _QUOTES or lexeme.isidentifier() or lexeme in (".", "[", "(", "NOT"):
            return "Join two conditions with AND or OR."
        if _COMPARISON.match(lexeme):
            return "Comparisons do not chain: write a < b AND b < c."
    return ""


def _open_brackets(text: str, position: int) -> list[tuple[str, int]]:
    stack: list[tuple[str, int]] = []
    for bracket, at in _brackets(text):
        if at >= position:
            break
        if bracket not in _PAIRS:
            stack.append((bracket, at))
        elif stack:
            stack.pop()
    return stack


def _indexes(text: str, position: int) -> bool:
    """Say whether the ``[`` at ``position`` follows a name, so that it holds an index."""
    before = text[:position].rstrip()[-1:]
    return before.isalnum() or before in '_"`'


SASE = Dialect({}, sase_remedy)
