"""Limits that a call exceeds, reported with the partition and the part of the query in which it did."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pyarrow as pa

from fyke.language.ast import Strategy
from fyke.logical.normal_form import Alternative
from fyke.plan.plan import Plan

_LONGEST = 60

Part = Literal["search", "matches", "counting", "absence", "rows", "graphs"]


class LimitReached(Exception):
    """Raised by the host of a kernel, with the name of the limit, a row of the partition, and what did it.

    ``value`` is what the limit came to, if that depends on the call.  ``variable`` is that of the pattern
    whose row was searched then, if it is known.
    """

    def __init__(self, limit: str, row: int, part: Part = "search", value: int | None = None) -> None:
        self.limit, self.row, self.part, self.value = limit, row, part, value
        self.variable: str | None = None
        super().__init__(limit, row)


@contextmanager
def limits_by_partition(table: pa.Table, plan: Plan) -> Iterator[None]:
    """Turn a limit reached at a row of an ordered table into the error that users see."""
    try:
        yield
    except LimitReached as reached:
        where = describe_partition(table, plan.keys, reached.row)
        culprit = describe_part(plan, reached.limit, reached.part)
        remedy = what_to_do(plan, reached.limit, reached.part)
        raise plan.limits.exceeded(reached.limit, f"in {where} by {culprit}", remedy, reached.value) from None


# --- where ------------------------------------------------------------------------------------


def describe_partition(table: pa.Table, split: tuple[str, ...], row: int) -> str:
    """Return the partition of a row by its values, in one line; without ``split`` there is only one.

    >>> describe_partition(pa.table({"k": [7], "s": ["IBM"]}), ("k", "s"), 0)
    "the partition k = 7 and s = 'IBM'"
    """
    if not split:
        return "the whole input"
    pairs = [f"{name} = {_shown(table.column(name).slice(row, 1))}" for name in split]
    return f"the partition {' and '.join(pairs)}"


def _shown(column: pa.ChunkedArray) -> str:
    """Return the one value of a column, cut if it is long."""
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)  # Python knows no nanoseconds
    value = column[0].as_py()
    text = repr(value) if isinstance(value, (str, bytes)) else " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


# --- what -------------------------------------------------------------------------------------


def describe_part(plan: Plan, limit: str, part: Part) -> str:
    """Return the part of the query that has cost so much."""
    if part == "rows":
        return "the rows of the result"
    if part == "graphs":
        return f"the graphs of {_pattern(plan)}"
    if part == "absence":
        names = [
            variable.name + "[]" * variable.group
            for alternative in plan.alternatives
            for absence in alternative.absences
            for variable in absence.variables
        ]
        return f"the search for the absent {_together(names)}"
    if part == "counting":
        return f"counting the lists of {_pattern(plan)}"
    if "matches" in (limit, part):
        return f"the matches of {_pattern(plan)}"
    if plan.strategy is Strategy.ROBUST:
        return (
            f"robust_skip_till_next_match, which goes back as long as it finds no match, for {_pattern(plan)}"
        )
    return f"the partial matches of {_pattern(plan)}"


def _pattern(plan: Plan) -> str:
    """Return what multiplies in a pattern: its groups, else its largest set, else its largest sequence."""
    groups = dict.fromkeys(
        f"{variable.name}[]"
        for alternative in plan.alternatives
        for variable in alternative.variables
        if variable.group
    )
    if groups:
        return f"the group{'s' * (len(groups) > 1)} {_together(list(groups))}"
    most = max(plan.alternatives, key=lambda each: (len(_unordered(each)), len(each.variables)))
    unordered = _unordered(most)
    if unordered:
        return f"the set of {_together(unordered)}"
    return f"the sequence of {_together([variable.name for variable in most.variables])}"


def _unordered(alternative: Alternative) -> list[str]:
    """Return the variables of an alternative that have no order to some other one."""
    names = [variable.name for variable in alternative.variables]
    order = alternative.order
    return [
        name
        for name in names
        if any(name != other and (name, other) not in order and (other, name) not in order for other in names)
    ]


def _together(names: list[str], most: int = 6) -> str:
    """Return names as ``"a, b and c"``; of many, the first ones and how many more there are."""
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# --- what to do -------------------------------------------------------------------------------


def what_to_do(plan: Plan, limit: str, part: Part) -> str:
    """Return what makes a query cheaper, in one line."""
    ways = ["shorten the window" if plan.window.bounded else "add a window (WITHIN ...)"]
    if not plan.partition:
        ways.append("add a key ([attribute]) or other conditions")
    else:
        ways.append("add conditions")
    if plan.strategy is Strategy.ANY and part != "absence":
        ways.append("choose a stricter strategy, such as skip_till_next_match")
    elif plan.strategy is Strategy.ROBUST and part != "absence":
        ways.append("choose skip_till_next_match, which never goes back")
    keeps = limit in ("matches", "buffer_bytes") and not plan.result.over_matches
    if keeps:
        shared = ' or for output="compressed"' if plan.format.independent else ""
        ways.append(f"ask for numbers alone (RETURN count(*)){shared}")
    text = f"{', '.join(ways[:-1])}, or {ways[-1]}"
    return f"{text[0].upper()}{text[1:]}. Or raise the limit: limits=fyke.Limits({limit}=...)."
