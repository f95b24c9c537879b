"""The rows that many plans need of one table: what they have in common is worked out once.

Types are told apart once, a condition on events of one type is evaluated once, and the values of keys are
numbered once where the plans would number more of them by themselves.  Then it is also known once which keys
have the events that several plans begin with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import RLock

import numpy as np
import pyarrow as pa

from fyke.engine.input.near_anchors import near_anchors
from fyke.engine.input.order import PARTITION, by_segment, partition_codes
from fyke.engine.input.prepare import Players, Types, all_different, all_hold, carry, encode_types, mentioned
from fyke.engine.input.single_array import one_array
from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.input.partitions import list_complete, number_values
from fyke.engine.kernels.input.sorting import counting_sort
from fyke.language.unparse import unparse_expression
from fyke.logical.schema import EventSchema
from fyke.plan.anchors import find_anchors, needed_roles
from fyke.plan.plan import Plan
from fyke.plan.pushdown import Role

_PICKED = 2  # a key costs so many times more in a row that is picked than in one of all rows
_MOST_KEYS = 1 << 17  # of more keys it is not remembered which of them have an event of a role

_RoleKey = tuple[str | None, frozenset[str]]


@dataclass(frozen=True, slots=True)
class _Playing:
    """Rows in the order of time, the roles they play, and numbers of the values of their keys."""

    rows: Array
    roles: Array
    keys: tuple[Array, ...]

    def chosen(self, places: Array) -> _Playing:
        return _Playing(self.rows[places], self.roles[places], tuple(each[places] for each in self.keys))


@dataclass(frozen=True, slots=True)
class _Numbered:
    """The number of the value of each row in an attribute, -1 for null, and how many values there are."""

    values: Array
    count: int
    nulls: bool


@dataclass(frozen=True, slots=True)
class _Candidates:
    """The rows that play a role and have a key, the numbers of these keys, and which keys have such a row."""

    rows: Array
    keys: Array
    there: Array


@dataclass(frozen=True, slots=True)
class PreparedRows:
    """The prepared batch of a plan, and how many rows are relevant: more, if partitions were left out."""

    rows: pa.Table
    relevant: int


class SharedPlayers:
    """Finds the rows of plans in a table whose ``ends`` do not fall.  Threads may share it."""

    def __init__(self, table: pa.Table, schema: EventSchema, ends: Array, plans: Sequence[Plan]) -> None:
        self.table, self.schema, self.ends, self.plans = table, schema, ends, plans
        self._lock = RLock()
        self._rows: dict[_RoleKey, Array] = {}
        self._keys: dict[str, _Numbered | None] = {}
        self._candidates: dict[tuple[str, _RoleKey], _Candidates] = {}

    def prepare(self, plan: Plan, most: int) -> PreparedRows | None:
        """Return the prepared batch of a plan; None if other rows count, or if it has ``most`` rows or more.

        Partitions lie one after the other, in the order in which they appear.  Those that lack an event that
        every match has are left out.
        """
        if plan.every_row_counts or plan.looks_past_data or (plan.split and not plan.reads_apart):
            return None
        anchors = find_anchors(plan)
        found, relevant = self._in_complete_keys(plan) if anchors is None else (None, 0)
        if found is None:
            found = self._playing(plan)
            relevant = len(found.rows)
        if relevant >= most:
            return None
        near = None if anchors is None else near_anchors(self.ends[found.rows], found.roles, anchors)
        if near is not None:
            found, relevant = found.chosen(near), len(near)
        if plan.split:
            found = _complete(_in_partitions(found), plan)
        distinct = all_different(self.ends[found.rows])
        found = _by_partition(found) if plan.split else found
        players = Players(self.table, self._types, found.rows, found.roles, self.ends[found.rows])
        rows = carry(players, plan, distinct=distinct, numbered=True)
        if plan.split:
            rows = rows.append_column(PARTITION, pa.array(found.keys[0]))
        return PreparedRows(rows, relevant)

    def looked_at(self, plan: Plan) -> int:
        """Return how many rows have a type that a plan names, or all that are if it looks at any type."""
        types = {role.type for role in plan.roles}
        if plan.every_row_counts or None in types or self._types is None:
            return len(self.ends)
        _, ends, codes = self._by_type
        return sum(int(ends[code + 1] - ends[code]) for name in types for code in codes.get(name or "", ()))

    # --- roles --------------------------------------------------------------------------------------

    def _playing(self, plan: Plan) -> _Playing:
        """Return the rows that play a role and are in a partition."""
        played = [self._rows_of(role) for role in plan.roles]
        bits = np.repeat([1 << role.bit for role in plan.roles], [len(each) for each in played])
        rows = np.concatenate(played)
        if len(played) > 1:
            order = np.argsort(rows, kind="stable")
            rows, bits = rows[order], bits[order]
            first = np.concatenate(([True], rows[1:] != rows[:-1]))[: len(rows)]
            if not first.all():
                rows, bits = rows[first], np.bitwise_or.reduceat(bits, np.flatnonzero(first))
        found = _Playing(rows, bits, tuple(self._numbers(name, rows) for name in plan.split))
        for number in range(len(found.keys)):
            if found.keys[number].min(initial=0) < 0:
                found = found.chosen(np.flatnonzero(found.keys[number] >= 0))
        return found

    def _in_complete_keys(self, plan: Plan) -> tuple[_Playing | None, int]:
        """Return the rows whose key has all that a match needs, and how many rows play a role.

        Which keys have an event of a role is worked out once: rules with a common beginning share it.  None
        if keys are not numbered once for all, or if a row may play several roles.
        """
        types = {role.type for role in plan.roles}
        if len(plan.split) != 1 or None in types or len(types) < len(plan.roles) or plan.schema.unique:
            return None, 0
        (name,) = plan.split
        known = self._all_numbers(name)
        if known is None or known.count > _MOST_KEYS:
            return None, 0
        parts = {role.bit: self._candidates_of(role, name, known) for role in plan.roles}
        complete = np.zeros(known.count, bool)
        for needs in needed_roles(plan):
            there = [part.there for bit, part in parts.items() if needs >> bit & 1]
            complete |= np.logical_and.reduce(there)
        kept = {bit: np.flatnonzero(complete[part.keys]) for bit, part in parts.items()}
        rows, keys = (
            np.concatenate([getattr(parts[bit], field)[places] for bit, places in kept.items()])
            for field in ("rows", "keys")
        )
        bits = np.repeat([1 << bit for bit in kept], [len(places) for places in kept.values()])
        found = _Playing(rows, bits, (keys,)).chosen(np.argsort(rows, kind="stable"))
        return found, sum(len(part.rows) for part in parts.values())

    def _candidates_of(self, role: Role, name: str, known: _Numbered) -> _Candidates:
        key = name, _key(role)
        with self._lock:
            if key not in self._candidates:
                rows = self._rows_of(role)
                keys = known.values[rows]
                if known.nulls:
                    rows, keys = rows[keys >= 0], keys[keys >= 0]
                there = np.zeros(known.count, bool)
                there[keys] = True
                self._candidates[key] = _Candidates(rows, keys, there)
            return self._candidates[key]

    def _rows_of(self, role: Role) -> Array:
        """Return the rows that can play a role, whichever plan has it."""
        key = _key(role)
        with self._lock:
            if key not in self._rows:
                rows = self._rows_of_type(role.type)
                if role.conditions:
                    names = list(mentioned(role.conditions))
                    table = self.table.select(names) if names else self.table
                    holds = all_hold(
                        table if role.type is None else table.take(pa.array(rows)), role.conditions
                    )
                    rows = rows[holds]
                self._rows[key] = rows
            return self._rows[key]

    def _rows_of_type(self, name: str | None) -> Array:
        if name is None or self._types is None:
            return np.arange(len(self.ends))
        order, ends, codes = self._by_type
        rows = [order[ends[code] : ends[code + 1]] for code in codes.get(name, ())]
        return rows[0] if len(rows) == 1 else np.sort(np.concatenate([order[:0], *rows]))

    @cached_property
    def _types(self) -> Types | None:
        name = self.schema.type_column
        return None if name is None else encode_types(one_array(self.table.column(name)))

    @cached_property
    def _by_type(self) -> tuple[Array, Array, dict[str, list[int]]]:
        """The rows type after type, where those of each code end, from -1 on, and the codes of each type."""
        types = self._types
        assert types is not None
        codes, ends = types.codes.astype(np.int64), np.zeros(len(types.dictionary) + 2, np.int64)
        order = np.empty(len(codes), np.int64)
        counting_sort(np.arange(len(codes)), codes, ends, order)
        numbers: dict[str, list[int]] = {}
        for code, value in enumerate(types.dictionary.to_pylist()):
            if value is not None:
                numbers.setdefault(str(value), []).append(code)
        return order, ends, numbers

    # --- keys ---------------------------------------------------------------------------------------

    def _numbers(self, name: str, rows: Array) -> Array:
        """Return a number for the value that each row has in an attribute, -1 for null."""
        known = self._all_numbers(name)
        if known is not None:
            return known.values[rows]
        return partition_codes(self.table.select([name]).take(pa.array(rows)), (name,))

    def _all_numbers(self, name: str) -> _Numbered | None:
        """Return the numbers of all values of an attribute; None if finding them does not pay."""
        with self._lock:
            if name not in self._keys:
                self._keys[name] = None
                if self._pays(name):
                    values = partition_codes(self.table, (name,))
                    nulls = bool(values.min(initial=0) < 0)
                    self._keys[name] = _Numbered(values, int(values.max(initial=-1)) + 1, nulls)
            return self._keys[name]

    def _pays(self, name: str) -> bool:
        """Say whether numbering all values once is less work than numbering those of each plan."""
        picked = sum(self.looked_at(plan) for plan in self.plans if name in plan.split)
        return _PICKED * picked > len(self.ends)


def _key(role: Role) -> _RoleKey:
    """Return what roles of several plans have in common if they mean the same."""
    return role.type, frozenset(map(unparse_expression, role.conditions))


def _in_partitions(found: _Playing) -> _Playing:
    """Number the partitions: by when their first key appears, then by when their second one does."""
    codes = _by_appearance(found.keys[0])
    for key in found.keys[1:]:
        numbers = _by_appearance(key)
        both = codes * (int(numbers.max(initial=0)) + 1) + numbers
        codes = np.unique(both, return_inverse=True)[1].astype(np.int64)
    return _Playing(found.rows, found.roles, (codes,))


def _by_appearance(codes: Array) -> Array:
    numbers = np.empty(len(codes), np.int64)
    number_values(codes, _scratch(codes), numbers)
    return numbers


def _complete(found: _Playing, plan: Plan) -> _Playing:
    """Leave out the partitions that can have no match; if an order must be unique, it is looked at in all."""
    if plan.schema.unique:
        return found
    (codes,) = found.keys
    places = np.empty(len(codes) + 1, np.int64)
    needs = np.array(needed_roles(plan), np.int64)
    count = list_complete(codes, found.roles, needs, _scratch(codes), places)
    return found if count == len(codes) else found.chosen(places[:count])


def _by_partition(found: _Playing) -> _Playing:
    """Bring partitions one after the other."""
    (codes,) = found.keys
    return found.chosen(by_segment(np.arange(len(codes)), codes))


def _scratch(codes: Array) -> Array:
    return np.zeros(int(codes.max(initial=-1)) + 1, np.int64)
