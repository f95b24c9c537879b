"""Event types by name: the kernel tells apart what differs in any byte, whatever its short keys say."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import fyke
from fyke.engine.kernels.input.type_names import BLOCK, match_names

# Few letters, so that many strings agree in their length, first and last byte.
_TEXTS = st.text("abß", max_size=6)


def numbered(strings: list[str], names: list[str]) -> list[int]:
    codes = np.empty(len(strings), np.int32)
    name_keys, keys = np.empty(len(names), np.int32), np.empty(BLOCK, np.int32)
    match_names(*_parts(strings), *_parts(names), name_keys, keys, codes)
    found: list[int] = codes.tolist()
    return found


def _parts(strings: list[str]) -> tuple[np.ndarray, np.ndarray]:
    encoded = [each.encode() for each in strings]
    offsets = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    return offsets, np.frombuffer(b"".join(encoded) or b"\0", np.uint8)


@settings(deadline=None)  # the first call compiles
@given(st.lists(_TEXTS), st.lists(_TEXTS, unique=True))
def test_a_string_is_the_name_it_equals(strings: list[str], names: list[str]) -> None:
    assert numbered(strings, names) == [names.index(s) if s in names else -1 for s in strings]


def test_lengths_beyond_the_key_and_more_strings_than_a_block() -> None:
    names = ["a", "aa", "", "a" * 40_000, "a" * (2**16 + 1)]
    strings = [*names, "a" * (2**16 + 2), "a" * (2**16), "a" * 40_001, *["b", "a"] * 5_000, ""]
    assert numbered(strings, names) == [0, 1, 2, 3, 4, -1, -1, -1, *[-1, 0] * 5_000, 2]


def test_types_that_differ_in_the_middle_only() -> None:
    kinds = ["order_A_made", "order_B_made", "order_C_made", "order_A_made", None]
    events = pa.table({"t": range(5), "kind": kinds})
    query = "PATTERN SEQ(order_A_made a, order_B_made b) WITHIN 9 RETURN a.t AS a, b.t AS b"
    found = fyke.match(events, query, time="t", type="kind").select(["a", "b"])
    assert found.to_pylist() == [{"a": 0, "b": 1}]


def test_a_dictionary_may_hold_a_type_twice_and_null() -> None:
    kinds = pa.DictionaryArray.from_arrays([0, 1, 2, 3, 0, 3], ["A", "A", None, "B"])
    events = pa.table({"t": range(6), "kind": kinds, "x": range(6)})
    for where, count in {"a.t < b.t": 5, "a.x > 0": 3}.items():
        query = f"PATTERN SEQ(A a, B b) WHERE skip_till_any_match {{ {where} }} WITHIN 9"
        for engine in ("automaton", "lazy_chain"):
            assert fyke.match(events, query, time="t", type="kind", engine=engine).num_rows == count
