"""Write docs/errors.md, the page that lists every error of Fyke: ``python scripts/error_index.py``.

The docstring of an error says when it is raised.  Its example is what it says then: each is raised here, by a
call that a user might make.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

import fyke
from fyke import errors
from fyke.command.sink import check_sink
from fyke.engine.input.prepare import derived_types
from fyke.engine.state_bytes import open_state
from fyke.errors import FykeError
from fyke.language import row_pattern_text
from fyke.language.sql_statement import read_statement, unreadable_table
from fyke.logical.analyse import analyse
from fyke.logical.schema import make_schema
from fyke.plan.plan import make_plan
from fyke.spark.local import read_frame
from fyke.spark.row_patterns import check_row_order
from fyke.spark.stream.checks import check_plan

PAGE = Path(__file__).resolve().parents[1] / "docs" / "errors.md"
EVENTS = pa.table({"kind": ["A", "A", "B"], "x": [1, 2, 3], "name": ["p", "q", "r"], "at": [1, 2, 3]})
TIMED = EVENTS.set_column(3, "at", pa.array([1, 2, 3], pa.timestamp("s")))
HEAD = """\
# Errors

Everything that Fyke raises on purpose is a `fyke.FykeError`; all classes are in `fyke.errors`. An error about
a query says where, what was found, what is allowed and what to do, before anything has run. For programs
there are `error.message` and `error.remedy`, and of errors about a query `error.line` and `error.column`.

This page is made from the code by `scripts/error_index.py`. The examples are what errors have said that it
raised.

| class | raised for |
|---|---|
"""


def ask(query: str, events: object = EVENTS, **options: object) -> Callable[[], object]:
    """Return a call of ``fyke.match``."""
    return lambda: fyke.match(events, query, **({"time": "at", "type": "kind"} | options))  # type: ignore[arg-type]


def _on_a_stream(query: str) -> Callable[[], object]:
    """Return the check that a query has to pass before a stream starts."""
    columns = dict(zip(TIMED.schema.names, TIMED.schema.types, strict=True))
    schema = make_schema(columns, time="at", type_column="kind")
    return lambda: check_plan(make_plan(analyse(fyke.parse(query), schema), derived_types))


def _unreadable(text: str) -> Callable[[], object]:
    """Return what fails if a session does not have the table of a statement."""

    def fail() -> None:
        statement = read_statement(text)
        assert statement is not None
        said = "[TABLE_OR_VIEW_NOT_FOUND] The table or view `tikcs` cannot be found."
        raise unreadable_table(statement, statement.clauses[0], said)

    return fail


EXAMPLES: dict[str, Callable[[], object]] = {
    "QuerySyntaxError": ask("PATTERN SEQ(A a, B b WITHIN 10"),
    "UnknownTypeError": ask("PATTERN SEQ(A a, C c)", {"A": EVENTS, "B": EVENTS}, type=None),
    "UnknownVariableError": ask("PATTERN SEQ(A a, B b) WHERE { c.x > 1 }"),
    "UnknownAttributeError": ask("PATTERN SEQ(A a, B b) WHERE { a.nam = 'p' }"),
    "UnknownFunctionError": ask("PATTERN SEQ(A a, B b) WHERE { sqr(a.x) > b.x }"),
    "AmbiguousNameError": ask("SELECT x FROM [RANGE 10] A; B"),
    "DuplicateVariableError": ask("PATTERN SEQ(A a, B a)"),
    "TypeClashError": ask("PATTERN SEQ(A a, B b) WHERE { a.name > b.x }"),
    "GroupAsSingleError": ask("PATTERN SEQ(A+ a[], B b) RETURN a.x"),
    "SingleAsGroupError": ask("PATTERN SEQ(A a, B b) WHERE { a[1].x > 1 }"),
    "PreviousOfSingleError": ask("PATTERN SEQ(A a, B b) WHERE { a[i-1].x > 1 }"),
    "AbsenceReferenceError": ask("PATTERN SEQ(A a, ~B b) WITHIN 10 RETURN b.x"),
    "AggregateError": ask("PATTERN SEQ(A+ a[], B b) RETURN count(*), b.x"),
    "WindowError": ask("PATTERN SEQ(A a, B b) WITHIN 2.5 EVENTS"),
    "WindowLengthError": ask("PATTERN SEQ(A a, B b) WITHIN 0"),
    "WindowUnitError": ask("PATTERN SEQ(A a, B b) WITHIN 10 minutes"),
    "MissingWindowError": ask("PATTERN SEQ(A a, ~B b)"),
    "QuantifierError": ask("PATTERN SEQ(A{5,2} a[], B b)"),
    "EmptyPatternError": ask("PATTERN ~A a WITHIN 10"),
    "ContradictionError": ask("PATTERN SEQ(A a, B b) WHERE { a.x > 3 AND a.x < 2 }"),
    "TooManyVariablesError": ask(f"PATTERN SEQ({', '.join(f'A v{n}' for n in range(70))})"),
    "TooManyAlternativesError": ask(f"PATTERN SEQ({', '.join(f'OR(A a{i}, B b{i})' for i in range(20))})"),
    "QueryTooLargeError": ask("PATTERN " + "SEQ(" * 300 + "A a" + ")" * 300),
    "NavigationError": lambda: fyke.parse("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x > FINAL LAST(x))"),
    "MissingDefineError": lambda: fyke.parse("MATCH_RECOGNIZE (PATTERN (A B))"),
    "RowsPerMatchError": lambda: fyke.parse(
        "MATCH_RECOGNIZE (ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A {- B -}) DEFINE A AS x > 1)"
    ),
    "RowOrderError": lambda: check_row_order(
        row_pattern_text.parse("MATCH_RECOGNIZE (PATTERN (A B) DEFINE B AS x > PREV(x))")
    ),
    "TableError": _unreadable(
        "SELECT * FROM tikcs MATCH_RECOGNIZE (ORDER BY ts PATTERN (A) DEFINE A AS x > 1)"
    ),
    "SkipError": lambda: fyke.reference.match(
        EVENTS, "MATCH_RECOGNIZE (ORDER BY at AFTER MATCH SKIP TO FIRST A PATTERN (A A) DEFINE A AS x > 0)"
    ),
    "OutputNameError": ask("PATTERN SEQ(A a, B b) RETURN a.x AS x, b.x AS x"),
    "ParameterError": ask("PATTERN A a WHERE { a.x > :limit }"),
    "LabelError": lambda: fyke.program("Pair: PATTERN SEQ(A a, B b); Pair: PATTERN A a"),
    "CycleError": lambda: fyke.program("P: PATTERN Q q WITHIN 5; Q: PATTERN P p WITHIN 5"),
    "UnsupportedQueryError": ask("PATTERN SEQ(A+ a[], B b) WHERE { median(a[].x) > 1 }"),
    "MissingColumnError": ask("PATTERN A a", time="when"),
    "TimeColumnError": ask("PATTERN A a", time="name"),
    "SchemaClashError": ask("PATTERN SEQ(A a, B b)", {"A": EVENTS, "B": TIMED}, type=None, time="x"),
    "OptionError": ask("PATTERN A a", output="first"),
    "InputError": ask("PATTERN A a", 42),
    "LimitError": ask("PATTERN SEQ(A a, B b)", limits=fyke.Limits(matches=1)),
    "CountTooLargeError": ask(
        "PATTERN A+ a[] WHERE skip_till_any_match { } RETURN count(*)",
        pa.table({"kind": ["A"] * 70, "at": range(70)}),
    ),
    "NotRunError": lambda: fyke.Metrics().get(),
    "RuleError": lambda: fyke.rules([{"name": "theft", "text": "PATTERN A a"}] * 2),
    "SparkError": lambda: read_frame(None, "kafka", []),  # type: ignore[arg-type]
    "SinkError": lambda: check_sink(Path("matches.xls")),
    "StateError": lambda: open_state(b"something else"),
    "StreamError": _on_a_stream("PATTERN SEQ(A a, B b)"),
}


def classes(root: type[FykeError] = FykeError) -> Iterator[tuple[int, type[FykeError]]]:
    """Yield every class of the tree with its depth, in the order of the file."""
    found = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, FykeError)]
    found.sort(key=lambda each: inspect.getsourcelines(each)[1])

    def below(parent: type[FykeError], depth: int) -> Iterator[tuple[int, type[FykeError]]]:
        yield depth, parent
        for each in found:
            if parent in each.__bases__:
                yield from below(each, depth + 1)

    return below(root, 0)


def example(kind: type[FykeError]) -> str:
    """Return what an error of this very class says, raised by its example."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            EXAMPLES[kind.__name__]()
    except FykeError as error:
        if type(error) is kind:
            return "\n".join(line.rstrip() for line in str(error).split("\n"))
        raise AssertionError(f"{kind.__name__}: raised {type(error).__name__}: {error}") from error
    raise AssertionError(f"{kind.__name__}: nothing was raised")


def page() -> str:
    """Return the text of the page."""
    tree = list(classes())
    parts = [HEAD]
    for depth, kind in tree:
        about = (kind.__doc__ or "").split("\n")[0].replace("``", "`")
        name = f"[{kind.__name__}](#{kind.__name__.lower()})" if kind.__name__ in EXAMPLES else kind.__name__
        parts.append(f"| {'· ' * depth}{name} | {about} |\n")
    parts.append(
        "\nA class stands for those below it: `except fyke.errors.QueryError` takes all errors of queries.\n"
    )
    parts.append("\n## Examples\n")
    parts += [
        f"\n### {kind.__name__}\n\n```\n{example(kind)}\n```\n"
        for _, kind in tree
        if kind.__name__ in EXAMPLES
    ]
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
