"""What users hold their events in: all of it is taken, and pandas and polars come back as what they were."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import fyke
from fyke.errors import InputError

EVENTS = pa.table(
    {"kind": ["A", "B", "A", "B"], "t": [1, 2, 3, 4], "u": ["x", "x", "y", "y"], "v": [1.5, 2.5, None, 4.5]}
)
QUERY = "PATTERN SEQ(A a, B b) WHERE { [u] } WITHIN 10 RETURN a.v, b.t"
WHOLE = "PATTERN SEQ(A a, B+ b[]) WITHIN 10"
OPTIONS: dict[str, Any] = {"time": "t", "type": "kind"}
EXPECTED = fyke.match(EVENTS, QUERY, **OPTIONS)


class Streamed:
    """A table of some library that speaks Arrow's PyCapsule interface, and nothing else."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return EVENTS.__arrow_c_stream__(requested_schema)


class Array:
    """A batch of some library that speaks Arrow's PyCapsule interface for arrays."""

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return EVENTS.to_batches()[0].__arrow_c_array__(requested_schema)


TABLES: dict[str, Callable[[], Any]] = {
    "record batch": lambda: EVENTS.to_batches()[0],
    "reader": EVENTS.to_reader,
    "stream of another library": Streamed,
    "array of another library": Array,
    "duckdb": lambda: duckdb.from_arrow(EVENTS),
    "dataset": lambda: ds.dataset(EVENTS),
    "list of dicts": EVENTS.to_pylist,
    "tuple of dicts": lambda: tuple(EVENTS.to_pylist()),
}


@pytest.mark.parametrize("given", TABLES.values(), ids=TABLES)
def test_what_is_a_table_gives_a_table(given: Callable[[], Any]) -> None:
    assert fyke.match(given(), QUERY, **OPTIONS).equals(EXPECTED)
    by_type = {name: EVENTS.filter(pa.compute.equal(EVENTS["kind"], name)) for name in "AB"}
    assert fyke.match(by_type, QUERY, time="t").select(["a_v", "b_t"]).equals(EXPECTED.select(["a_v", "b_t"]))


def test_keys_that_only_some_dicts_have() -> None:
    rows = [{"t": 1}, {"t": 2, "x": 5}, {"x": 6, "t": 3}]
    found = fyke.match(rows, "PATTERN ANY a RETURN a.x", time="t")
    assert found["a_x"].to_pylist() == [None, 5, 6]


# --- pandas -----------------------------------------------------------------------------------------


def test_pandas_comes_back() -> None:
    frame = EVENTS.to_pandas()
    found = fyke.match(frame, QUERY, **OPTIONS)
    pd.testing.assert_frame_equal(found, EXPECTED.to_pandas())


@pytest.mark.parametrize(
    "index", [pd.Index([9, 8, 7, 6], name="row"), pd.MultiIndex.from_product([[1, 2], ["t", "v"]])]
)
def test_an_index_of_pandas_does_not_leak_in(index: pd.Index) -> None:
    frame = EVENTS.to_pandas().set_index(index)
    found = fyke.match(frame, WHOLE, **OPTIONS)
    assert list(found.loc[0, "a"]) == ["kind", "t", "u", "v"]
    assert list(found["match_id"]) == fyke.match(EVENTS, WHOLE, **OPTIONS)["match_id"].to_pylist()
    assert list(found.index) == [0, 1, 2]


def test_columns_of_arrow_in_pandas_stay_so() -> None:
    frame = EVENTS.to_pandas().convert_dtypes(dtype_backend="pyarrow")
    found = fyke.match(frame, QUERY, **OPTIONS)
    assert {str(kind) for kind in found.dtypes} == {"string[pyarrow]", "int64[pyarrow]", "double[pyarrow]"}
    assert found["a_v"].isna().tolist() == [False, True]


def test_categories_of_pandas_are_types() -> None:
    frame = EVENTS.to_pandas().astype({"kind": "category", "u": "category"})
    found = fyke.match(frame, QUERY, **OPTIONS)
    assert found["u"].dtype == "category"
    assert found["b_t"].tolist() == [2, 4]


def test_pandas_by_type_in_a_program_and_rejected() -> None:
    frame = EVENTS.to_pandas()
    by_type = {name: frame[frame.kind == name].drop(columns="kind") for name in "AB"}
    assert isinstance(fyke.match(by_type, QUERY, time="t"), pd.DataFrame)
    timed = QUERY.replace("WITHIN 10", "WITHIN 10 seconds")
    results = fyke.program(f"Pairs: {timed}; Joined: SELECT Pairs.a_v FROM [RANGE 9 SEC] Pairs").run(
        frame, time="t", type="kind", time_unit="s"
    )
    assert [type(each) for each in results.values()] == [pd.DataFrame] * 2
    assert results["Joined"]["Pairs_a_v"].tolist()[0] == 1.5
    late = frame.astype({"t": "Int64"})
    late.loc[2, "t"] = pd.NA
    assert fyke.rejected(late, time="t")["u"].tolist() == ["y"]
    batches = list(fyke.match_batches(frame, QUERY, **OPTIONS))
    assert pa.Table.from_batches(batches).equals(EXPECTED)
    assert "SEQ(A a, B b)" in fyke.explain(frame, QUERY, **OPTIONS)


def test_what_is_compressed_can_be_enumerated() -> None:
    for events in (EVENTS.to_pandas(), pl.from_arrow(EVENTS)):
        compressed = fyke.match(events, WHOLE, output="compressed", **OPTIONS)
        found = pa.Table.from_batches(list(fyke.enumerate_matches(compressed)))
        assert sorted(found["match_id"].to_pylist()) == sorted(
            fyke.match(EVENTS, WHOLE, **OPTIONS)["match_id"].to_pylist()
        )


# --- polars -----------------------------------------------------------------------------------------


def test_polars_comes_back() -> None:
    frame = pl.from_arrow(EVENTS)
    found = fyke.match(frame, QUERY, **OPTIONS)
    assert found.equals(pl.DataFrame(EXPECTED))
    assert isinstance(found, pl.DataFrame)
    lazy = fyke.match(frame.lazy(), QUERY, **OPTIONS)
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect().equals(found)
    assert isinstance(fyke.rejected(frame, time="t"), pl.DataFrame)


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["A", "B", "x", "y"])], ids=["categorical", "enum"])
def test_categories_of_polars_are_types(kind: Any) -> None:
    frame = pl.from_arrow(EVENTS).with_columns(pl.col("kind").cast(kind), pl.col("u").cast(kind))
    for query in (QUERY, WHOLE, QUERY.replace("}", "AND a.u = b.u AND a.u >= 'x' }")):
        found = fyke.match(frame, query, **OPTIONS)
        assert found["match_id"].to_list() == fyke.match(EVENTS, query, **OPTIONS)["match_id"].to_pylist()


def test_groups_and_relational_queries_of_polars() -> None:
    frame = pl.from_arrow(EVENTS)
    found = fyke.match(frame, WHOLE, **OPTIONS)
    assert found["b"].to_list() == fyke.match(EVENTS, WHOLE, **OPTIONS)["b"].to_pylist()
    join = "SELECT A.u, B.v FROM [RANGE 1 SEC] A; B WHERE A.u = B.u"
    joined = fyke.match(frame, join, time_unit="s", **OPTIONS)
    assert isinstance(joined, pl.DataFrame)
    assert joined["A_u"].to_list() == ["x", "y"]


# --- files ------------------------------------------------------------------------------------------


def written(folder: Path) -> dict[str, Path]:
    """Write the events in every format."""
    frame = EVENTS.to_pandas()
    pq.write_table(EVENTS, folder / "events.parquet")
    pa.csv.write_csv(EVENTS, folder / "events.csv")
    frame.to_csv(folder / "packed.csv.gz", index=False)
    frame.to_json(folder / "lines.jsonl", orient="records", lines=True)
    frame.to_json(folder / "list.json", orient="records")
    pa.feather.write_feather(EVENTS, folder / "events.arrow")
    (folder / "folder").mkdir()
    pq.write_table(EVENTS.slice(0, 2), folder / "folder" / "1.parquet")
    pq.write_table(EVENTS.slice(2), folder / "folder" / "2.parquet")
    (folder / "folder" / "_SUCCESS").touch()
    return {path.name: path for path in sorted(folder.iterdir())}


def test_files(tmp_path: Path) -> None:
    files = written(tmp_path)
    assert len(files) == 7
    for path in files.values():
        for given in (path, str(path)):
            assert fyke.match(given, QUERY, **OPTIONS).equals(EXPECTED), given


def test_a_folder_by_type(tmp_path: Path) -> None:
    pq.write_to_dataset(EVENTS, tmp_path / "hive", partition_cols=["kind"])
    found = fyke.match(tmp_path / "hive", QUERY, **OPTIONS)
    assert found.select(["a_v", "b_t"]).equals(EXPECTED.select(["a_v", "b_t"]))


# --- what are no events -----------------------------------------------------------------------------

TAKEN = (
    "events must be a Spark DataFrame or the name of a view, a table of pyarrow, pandas, polars or anything "
    "with __arrow_c_stream__, a list of dicts, the path of a file, or a dict of these, found "
)
REFUSED: dict[str, tuple[Any, str]] = {
    "nothing": (None, TAKEN + "None"),
    "number": (5, TAKEN + "5"),
    "empty list": ([], TAKEN + "an empty list"),
    "list of numbers": ([1, 2], TAKEN + "a list of int"),
    "empty dict": ({}, TAKEN + "an empty dict"),
    "series": (pd.Series([1]), TAKEN + "a pandas Series"),
    "number as type": ({5: EVENTS}, "the keys of a dict of events are event types, found 5"),
    "columns": (
        {"t": [1, 2], "kind": ["A", "B"]},
        "a dict of events is {type: events}, and 't' is a list of int\n"
        "Make a table of columns with pyarrow.table(columns).",
    ),
    "mixed column": (
        pd.DataFrame({"t": [1, 2], "x": [1, "a"]}),
        "the events, a pandas DataFrame, cannot be made a table: ",
    ),
    "doubled column": (
        pd.DataFrame([[1, 2]], columns=["t", "t"]),
        "the events, a pandas DataFrame, cannot be made a table: Duplicate column names found: ['t', 't']\n"
        "Give each column values of one type and a name of its own.",
    ),
    "no such file": ("no/such/file.parquet", "there is no file 'no/such/file.parquet'"),
    "no such path": (Path("nothing"), "there is no file 'nothing'"),
    "text too long for a path": (
        "x" * 5_000,
        f"events='{'x' * 59}... is neither a file that exists nor, without a Spark session, a view",
    ),
}


@pytest.mark.parametrize("events, text", REFUSED.values(), ids=REFUSED)
def test_what_is_no_events(events: Any, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fyke.call.events.view", lambda name: None)
    for call in (fyke.match, fyke.explain):
        with pytest.raises(InputError) as caught:
            call(events, QUERY, **OPTIONS)
        assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    "name, content, text",
    [
        ("bad.parquet", b"nonsense", "cannot be read as parquet"),
        ("bad.json", b"[1, 2]", "cannot be read as json: it is a list of int, and no list of objects"),
        ("bad.jsonl", b"nonsense", "cannot be read as json"),
        ("events.txt", b"A,1", "Fyke cannot tell what is in"),
        ("events", b"A,1", "Fyke cannot tell what is in"),
        ("list.json", json.dumps([]).encode(), "cannot be read as json: it is an empty list"),
    ],
)
def test_files_that_are_no_events(tmp_path: Path, name: str, content: bytes, text: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        fyke.match(str(tmp_path / name), QUERY, **OPTIONS)
    assert text in str(caught.value)


def test_a_folder_of_several_formats(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    (tmp_path / "b.parquet").touch()
    with pytest.raises(InputError, match="cannot tell what is in"):
        fyke.match(tmp_path, QUERY, **OPTIONS)
