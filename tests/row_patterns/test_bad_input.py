"""The errors of a clause: what, where, and what to do, word for word, from ``bad_input.txt``."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import fyke
from fyke import errors
from fyke.errors import QueryError
from fyke.language.row_patterns import RowPatternQuery
from fyke.limits import Limits
from fyke.logical.row_patterns.analyse import analyse_row_pattern
from fyke.plan.row_patterns.plan import make_row_plan

COLUMNS = {
    "g": pa.string(),
    "t": pa.timestamp("us"),
    "x": pa.float64(),
    "y": pa.float64(),
    "name": pa.string(),
    "history": pa.list_(pa.float64()),
    "loc": pa.struct([("lat", pa.float64())]),
    "tags": pa.map_(pa.string(), pa.string()),
}

CASES = [
    block
    for block in (Path(__file__).parent / "bad_input.txt").read_text(encoding="utf-8").strip().split("\n\n")
    if not block.startswith("#")
]


def analyse(text: str) -> None:
    query = fyke.parse(text)
    assert isinstance(query, RowPatternQuery)
    make_row_plan(analyse_row_pattern(query, COLUMNS), Limits())


@pytest.mark.parametrize("case", CASES, ids=[case.split("\n")[-2][:60] for case in CASES])
def test_bad_input(case: str) -> None:
    *lines, said, remedy = case.split("\n")
    marked = "\n".join(lines)
    name, _, message = said.partition(": ")
    with pytest.raises(getattr(errors, name)) as caught:
        analyse(marked.replace("«", "").replace("»", ""))
    error = caught.value
    assert isinstance(error, QueryError)
    assert (error.message, error.remedy) == (message, remedy)
    before, _, rest = marked.partition("«")
    found = rest.partition("»")[0].split("\n")[0]
    assert error.place is not None
    assert (error.line, error.column) == (before.count("\n") + 1, len(before.split("\n")[-1]) + 1)
    assert error.place.length == len(found)
    assert "^" * len(found) in str(error)
