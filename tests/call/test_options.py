"""Options of a call with values they do not take: typed errors, word for word, before any event is read."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import fyke
from fyke.errors import OptionError

EVENTS = pa.table({"kind": ["A"], "t": [1]})

WRONG: list[tuple[dict[str, Any], str]] = [
    (
        {"limits": {"runs": 5}},
        "limits must be a fyke.Limits, found {'runs': 5}\n"
        "Write, for example, limits=fyke.Limits(runs=10_000).",
    ),
    (
        {"limits": 0},
        "limits must be a fyke.Limits, found 0\nWrite, for example, limits=fyke.Limits(runs=10_000).",
    ),
    (
        {"techniques": "backtrack"},
        "techniques must be a fyke.Techniques, found 'backtrack'\n"
        "Write, for example, techniques=fyke.Techniques(merging=False).",
    ),
    (
        {"techniques": fyke.Techniques},
        "techniques must be a fyke.Techniques, found <class 'fyke.techniques.Techniques'>\n"
        "Write, for example, techniques=fyke.Techniques(merging=False).",
    ),
    (
        {"metrics": {}},
        "metrics must be a fyke.Metrics, found {}\n"
        "Write, for example, metrics=metrics, after metrics = fyke.Metrics().",
    ),
    (
        {"output": "al"},
        "output must be one of 'all', 'non_overlap', 'compressed', found 'al'. Did you mean 'all'?",
    ),
]


@pytest.mark.parametrize("options, text", WRONG, ids=lambda value: str(value)[:40])
def test_an_option_of_the_wrong_kind(options: dict[str, Any], text: str) -> None:
    with pytest.raises(OptionError) as caught:
        fyke.match(EVENTS, "PATTERN A a", time="t", type="kind", **options)
    assert str(caught.value) == text


def test_a_query_of_the_wrong_kind() -> None:
    for call in (lambda: fyke.match(EVENTS, ["A"], time="t"), lambda: fyke.matcher(["A"], time="t")):
        with pytest.raises(OptionError) as caught:
            call()
        assert str(caught.value) == (
            "query must be a text or a fyke.Query, found ['A']\n"
            "Write, for example, fyke.match(events, 'PATTERN SEQ(A a, B b)', time='ts', type='kind')."
        )
    with pytest.raises(OptionError, match=r"limits must be a fyke\.Limits, found 5"):
        fyke.matcher("PATTERN A a", limits=5)


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "5", None])
def test_a_limit_that_bounds_nothing(value: Any) -> None:
    for limit in ("runs", "buffer_bytes", "matches", "steps", "alternatives"):
        if limit == "steps" and value is None:
            continue  # as many as the events allow
        with pytest.raises(OptionError) as caught:
            fyke.Limits(**{limit: value})
        assert str(caught.value) == (
            f"limit '{limit}' must be a whole number above zero, found {value!r}\n"
            "Leave a limit out to keep its default."
        )


@pytest.mark.parametrize(
    "options, text",
    [
        ({"filter": "yes"}, "technique 'filter' must be one of True, False, found 'yes'."),
        ({"partition": 1}, "technique 'partition' must be one of True, False, found 1."),
        (
            {"candidate_windows": None},
            "technique 'candidate_windows' must be one of True, False, found None.",
        ),
        (
            {"merging": "Flase"},
            "technique 'merging' must be one of True, False, found 'Flase'. Did you mean 'False'?",
        ),
        (
            {"search": "backtracking"},
            "technique 'search' must be one of 'breadth_first', 'backtrack', found 'backtracking'. "
            "Did you mean 'backtrack'?",
        ),
        (
            {"robust": True},
            "technique 'robust' must be one of 'backtracking', 'post_processing', found True.",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_technique_that_there_is_not(options: dict[str, Any], text: str) -> None:
    with pytest.raises(OptionError) as caught:
        fyke.Techniques(**options)
    assert str(caught.value) == text
