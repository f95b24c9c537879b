"""Exponential queries end in an error that names its limit, within seconds and little memory."""

from __future__ import annotations

import json
import subprocess
import sys

BUFFER = 1 << 28
_MEASURED = """
import json, time
import pyarrow as pa
import fyke
from fyke.errors import LimitError
from tests.random.blow_ups import forget_peak, resident

rows = 3000
events = pa.table({"kind": ["A"] * rows + ["B"] * rows + ["C"] * rows, "t": list(range(3 * rows))})
small = pa.table({"kind": ["A", "B", "C"], "t": [1, 2, 3]})
query = "PATTERN SEQ(A+ a[], B+ b[], C+ c[]) WHERE skip_till_any_match { a.t >= 0 }"
assert fyke.match(small, query, time="t", type="kind").num_rows == 1  # compiles the kernels
forget_peak()
before, began = resident("VmRSS"), time.monotonic()
try:
    fyke.match(events, query, time="t", type="kind", limits=fyke.Limits(buffer_bytes=BUFFER))
    limit = None
except LimitError as error:
    limit, message = error.limit, str(error)
seconds = time.monotonic() - began
grown = 1024 * (resident("VmHWM") - before)
after = fyke.match(small, query, time="t", type="kind").num_rows
found = {"limit": limit, "message": message, "seconds": seconds, "bytes": grown, "after": after}
print(json.dumps(found))
"""


def test_groups_of_equal_events() -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"BUFFER = {BUFFER}\n{_MEASURED}"],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["limit"] == "buffer_bytes"  # merged, the runs are few; their matches are not
    assert "'buffer_bytes'" in found["message"]
    assert "fyke.Limits(buffer_bytes=...)" in found["message"]
    assert found["seconds"] < 30
    assert found["bytes"] < 1.25 * BUFFER
    assert found["after"] == 1
