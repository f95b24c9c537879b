"""The kernels as plain Python, and compiled with bounds checks: the same matches, no index out of bounds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

_SELECTION = """
import sys
sys.path.insert(0, {root!r})
import fyke
from fyke import reference
from tests.golden.cases import load_cases
from tests.golden.test_golden import options, query_under
from tests.random.results import difference

checked = 0
for number, case in enumerate(load_cases()):
    asked = options(case)
    for place, strategy in enumerate(case.expected):
        query = query_under(case, strategy)
        if (number + place) % {stride} == 0 and case.table.num_rows < 30:
            found = fyke.match(case.table, query, **asked)
            differing = difference(found, reference.match(case.table, query, **asked))
            assert differing is None, (case.name, strategy, differing)
            checked += 1
print(checked)
"""


@pytest.mark.parametrize(
    "setting, stride",
    [
        ({"FYKE_JIT": "0"}, 3),  # NumPy checks bounds, too
        pytest.param({"FYKE_BOUNDSCHECK": "1"}, 1, marks=pytest.mark.long),  # compiles without a cache
    ],
    ids=str,
)
def test_a_selection_in_another_mode(setting: dict[str, str], stride: int) -> None:
    script = _SELECTION.format(root=str(ROOT), stride=stride)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **setting},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.splitlines()[-1]) >= 30


_ROW_PATTERNS = """
import sys
sys.path.insert(0, {root!r})
import fyke
from tests.row_patterns.golden_cases import load_row_cases

cases = [case for case in load_row_cases() if not isinstance(case.expected, str)][::3]
for case in cases:
    assert case.difference(fyke.match(case.table, case.clause)) is None, case.name
print(len(cases))
"""


def test_row_patterns_without_the_compiler() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ROW_PATTERNS.format(root=str(ROOT))],
        env={**os.environ, "FYKE_JIT": "0"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.splitlines()[-1]) >= 30


@pytest.mark.long
def test_saved_states_with_checked_bounds() -> None:
    """Golden cases and 2,000 random queries, with a fresh engine and bytes for every event or batch."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "", "-p", "no:cacheprovider"]
    asked = ["tests/random/test_state.py", "-k", "fresh_engine_for_every_event or for_every_batch_for_long"]
    done = subprocess.run(
        [*command, *asked],
        cwd=ROOT,
        env={**os.environ, "FYKE_BOUNDSCHECK": "1"},
        capture_output=True,
        text=True,
        timeout=5400,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout.splitlines()[-1]
