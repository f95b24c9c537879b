"""A statement of Spark SQL that holds MATCH_RECOGNIZE clauses: where they are, and over which tables.

Only what it takes to find them is read: words, quoted text, comments and parentheses.  Whatever else a
statement says is Spark's business.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fyke.errors import QuerySyntaxError, QueryTooLargeError, TableError
from fyke.language.syntax_errors import place_at

MOST_CLAUSES = 64  # of a statement

_CLAUSE = "match_recognize"
_LEXEME = re.compile(r"--|/\*|[rR](?=['\"])|['\"`]|\w+|\s+|::|.", re.DOTALL)
_QUOTED = {  # in SQL of Spark: a backslash hides what follows it
    "'": re.compile(r"'(?:[^'\\]|\\.|'')*'?", re.DOTALL),
    '"': re.compile(r'"(?:[^"\\]|\\.|"")*"?', re.DOTALL),
    "`": re.compile(r"`(?:[^`]|``)*`?"),
}
_RAW = re.compile(r"'[^']*'?|\"[^\"]*\"?")
# In a clause, by its own grammar: no backslashes, no nested comments.
_IN_CLAUSE = re.compile(
    r"\{-|--[^\n]*|/\*.*?(?:\*/|\Z)|'[^']*(?:'|\Z)|\"[^\"]*(?:\"|\Z)|`[^`]*(?:`|\Z)|[()]", re.DOTALL
)
_OPENED = re.compile(r"\s*\(")
_COMMENT = re.compile(r"/\*|\*/")
_TABLES_BEGIN = ("from", "join", ",")
_NOT_IN_TABLES = {
    *("select", "where", "on", "using", "group", "having", "order", "limit", "union", "intersect", "except"),
    *("window", "qualify", "set", "values", "insert", "with"),
}
_QUERIES_BEGIN = ("select", "(", "values", "table", "map", "reduce")
_CHANGES = ("insert", "merge", "update", "delete")


@dataclass(frozen=True, slots=True)
class Token:
    """A word, quoted text, a mark, or a whole clause, between ``start`` and ``end`` of the text.

    ``depth`` is how many parentheses are open around it.
    """

    kind: str
    text: str
    start: int
    end: int
    depth: int

    def says(self, *words: str) -> bool:
        """Say whether it is one of some words or marks."""
        return self.kind in ("word", "mark") and self.text.lower() in words


@dataclass(frozen=True, slots=True)
class StatedClause:
    """A clause in a statement, as stretches of its text.

    ``table`` is what it is over, ``scopes`` are the lists of WITH that this may name, from outside in, and
    ``label`` is the name the result has in the statement, if it has one.
    """

    table: tuple[int, int]
    clause: tuple[int, int]
    scopes: tuple[tuple[int, int], ...]
    label: str | None


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with its clauses in the order of the text, so that a clause over a clause comes after it.

    ``command`` is the word that makes it more than a query, as INSERT.
    """

    text: str
    clauses: tuple[StatedClause, ...]
    parameters: frozenset[str]
    command: str | None


def read_statement(text: str) -> Statement | None:
    """Return the clauses of a statement; None if it has none, or is a clause alone.

    Raises
    ------
    QuerySyntaxError
        If a clause does not stand behind a table.
    """
    if _CLAUSE not in text.lower():
        return None
    tokens = list(_tokens(text))
    found = [number for number, token in enumerate(tokens) if token.kind == "clause"]
    if len(found) > MOST_CLAUSES:
        raise QueryTooLargeError(
            f"a statement has at most {MOST_CLAUSES} MATCH_RECOGNIZE clauses, found {len(found)}",
            remedy="Make several statements of it, with views between them.",
        )
    if not found or (found == [0] and all(token.says(";") for token in tokens[1:])):
        return None
    clauses = tuple(_stated(text, tokens, number) for number in found)
    pairs = itertools.pairwise(tokens)
    parameters = {
        word.text for mark, word in pairs if mark.says(":") and word.kind == "word" and mark.end == word.start
    }
    end = tokens[-1].start if tokens[-1].says(";") else len(text)
    return Statement(text[:end], clauses, frozenset(parameters), _command(tokens))


def _command(tokens: list[Token]) -> str | None:
    """Return the word that makes a statement more than a query."""
    first = tokens[0]
    if first.says("with", "from"):
        changes = [token for token in tokens if token.depth == 0 and token.says(*_CHANGES)]
        return changes[0].text.upper() if changes else None
    return None if first.says(*_QUERIES_BEGIN) else first.text.upper()


def unreadable_table(statement: Statement, clause: StatedClause, said: str) -> TableError:
    """Return the error about the table of a clause, of which Spark has ``said`` what is wrong."""
    start, end = clause.table
    return TableError(
        "Spark cannot read the table in front of MATCH_RECOGNIZE",
        place=place_at(statement.text, start, len(statement.text[start:end].split("\n")[0])),
        text=statement.text,
        remedy=f"It says: {said}",
    )


# --- tokens ---------------------------------------------------------------------------------------


def _tokens(text: str) -> Iterator[Token]:
    at = depth = 0
    while at < len(text):
        found = _LEXEME.match(text, at)
        assert found is not None
        start, at, lexeme = at, found.end(), found[0]
        if lexeme == "--":
            newline = text.find("\n", at)
            at = len(text) if newline < 0 else newline
        elif lexeme == "/*":
            at = _after_comment(text, at)
        elif lexeme in _QUOTED:
            at = _end(_QUOTED[lexeme], text, start)
            yield Token("name" if lexeme == "`" else "string", text[start:at], start, at, depth)
        elif lexeme in ("r", "R") and text[at : at + 1] in ("'", '"'):
            at = _end(_RAW, text, at)
            yield Token("string", text[start:at], start, at, depth)
        elif lexeme.lower() == _CLAUSE and (opened := _OPENED.match(text, at)):
            at = _after_clause(text, opened.end())
            yield Token("clause", text[start:at], start, at, depth)
        elif not lexeme.isspace():
            depth -= lexeme == ")" and depth > 0
            yield Token(
                "word" if lexeme[0].isalnum() or lexeme[0] == "_" else "mark", lexeme, start, at, depth
            )
            depth += lexeme == "("


def _end(quoted: re.Pattern[str], text: str, start: int) -> int:
    found = quoted.match(text, start)
    assert found is not None
    return found.end()


def _after_comment(text: str, at: int) -> int:
    """Return the end of a comment, which may hold comments."""
    depth = 1
    while depth and (found := _COMMENT.search(text, at)):
        depth += 1 if found[0] == "/*" else -1
        at = found.end()
    return len(text) if depth else at


def _after_clause(text: str, at: int) -> int:
    """Return the end of a clause whose parenthesis was opened; that of the text if it is never closed."""
    depth = 1
    while depth and (found := _IN_CLAUSE.search(text, at)):
        depth += (found[0] == "(") - (found[0] == ")")
        at = found.end()
    return len(text) if depth else at


# --- tables ---------------------------------------------------------------------------------------


def _stated(text: str, tokens: list[Token], number: int) -> StatedClause:
    clause = tokens[number]
    first = _table_start(text, tokens, number)
    scopes = [scope for opening in _openings(tokens, number) for scope in _scopes(tokens, opening, number)]
    return StatedClause(
        (tokens[first].start, tokens[number - 1].end),
        (clause.start, clause.end),
        tuple(scopes),
        _label(tokens, number),
    )


def _table_start(text: str, tokens: list[Token], number: int) -> int:
    """Return the first token of the table that a clause stands behind."""
    depth, first = tokens[number].depth, number
    while (
        first > 0
        and tokens[first - 1].depth >= depth
        and not _says_at(tokens[first - 1], depth, _TABLES_BEGIN)
    ):
        before = tokens[first - 1]
        if before.depth == depth and before.says(*_NOT_IN_TABLES):
            raise _misplaced(text, tokens[number], f"and in front of this one is {before.text.upper()}")
        first -= 1
    if first == number:
        raise _misplaced(text, tokens[number], "and in front of this one is none")
    at = first - 1
    if at >= 0 and tokens[at].says(","):  # of FROM, or of something else?
        begins = ("from", *_NOT_IN_TABLES - {"on", "using"})
        at = next(
            (k for k in range(at, -1, -1) if tokens[k].depth < depth or _says_at(tokens[k], depth, begins)),
            -1,
        )
    if at < 0 or not (tokens[at].depth < depth or tokens[at].says("from", "join")):
        raise _misplaced(text, tokens[number], "and this one is not behind FROM or JOIN")
    return first


def _says_at(token: Token, depth: int, words: Iterable[str]) -> bool:
    return token.depth == depth and token.says(*words)


def _misplaced(text: str, clause: Token, found: str) -> QuerySyntaxError:
    return QuerySyntaxError(
        f"MATCH_RECOGNIZE stands behind a table, {found}",
        place=place_at(text, clause.start, len(_CLAUSE)),
        text=text,
        remedy="Write FROM ticks MATCH_RECOGNIZE (...) AS m; the table may be a subquery in parentheses.",
    )


def _openings(tokens: list[Token], number: int) -> list[int]:
    """Return the first token of each query around a token, from outside in."""
    found, depth = [], tokens[number].depth
    for at in range(number - 1, -1, -1):
        if tokens[at].depth < depth and tokens[at].says("("):
            found.append(at + 1)
            depth = tokens[at].depth
    return [0, *reversed(found)]


def _scopes(tokens: list[Token], opening: int, number: int) -> Iterator[tuple[int, int]]:
    """Yield the list of WITH that begins a query, up to the last definition in front of a token."""
    depth = tokens[opening].depth
    for at in range(opening, number):
        if tokens[at].depth < depth:
            return
        if tokens[at].depth == depth and tokens[at].says("with"):
            end = _last_definition(tokens, at + 1, number)
            if end is not None:
                yield tokens[at].end, tokens[end].end
                return


def _last_definition(tokens: list[Token], at: int, number: int) -> int | None:
    """Return the parenthesis that ends the last whole definition in front of a token."""
    last = None
    at += tokens[at].says("recursive")
    while at < number and tokens[at].kind in ("word", "name"):
        at += 1
        if tokens[at].says("("):
            at = _closed(tokens, at) + 1
        if at + 1 >= number or not tokens[at].says("as") or not tokens[at + 1].says("("):
            return last
        end = _closed(tokens, at + 1)
        if end >= number:
            return last
        last = end
        if not tokens[end + 1].says(","):
            return last
        at = end + 2
    return last


def _closed(tokens: list[Token], opened: int) -> int:
    depth = tokens[opened].depth
    return next(
        (at for at in range(opened + 1, len(tokens)) if tokens[at].depth == depth and tokens[at].says(")")),
        len(tokens),
    )


def _label(tokens: list[Token], number: int) -> str | None:
    rest = tokens[number + 1 : number + 3]
    if rest and rest[0].says("as"):
        rest = rest[1:]
    if not rest or rest[0].kind not in ("word", "name") or rest[0].says(*_BEHIND_TABLES):
        return None
    return rest[0].text.strip("`") if rest[0].kind == "name" else rest[0].text


_BEHIND_TABLES = (
    *(
        "join",
        "inner",
        "left",
        "right",
        "full",
        "cross",
        "semi",
        "anti",
        "natural",
        "lateral",
        "pivot",
        "unpivot",
    ),
    *_NOT_IN_TABLES,
    *("cluster", "distribute", "sort", "tablesample", "minus"),
)
