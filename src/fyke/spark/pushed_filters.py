"""Filters that Spark's optimizer brings down to a Python function, and no further: it cannot look into it.

For a function that keeps some columns as they are, such as the partition columns of a clause, they hold
below it as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from fyke.spark.expression import identifier

_FUNCTION = "MapInArrow"
_BETWEEN = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "And": "AND",
    "Or": "OR",
    "Like": "LIKE",
}
_CALLS = {"StartsWith": "startswith", "EndsWith": "endswith", "Contains": "contains"}
_AROUND = {
    "Not": "(NOT {})",
    "IsNull": "({} IS NULL)",
    "IsNotNull": "({} IS NOT NULL)",
    "Lower": "lower({})",
    "Upper": "upper({})",
}


def filters_above(frame: DataFrame, function: str, columns: Iterable[str]) -> list[str]:
    """Return, as SQL, the filters on some columns that stand right above a function in the optimized plan.

    ``function`` is its name.  If it is in the plan more than once, the filters are those above all of them.
    Behind Connect nobody can see a plan, and there are none.
    """
    if not hasattr(frame, "_jdf"):
        return []
    try:
        plan = frame._jdf.queryExecution().optimizedPlan()
    except PySparkException:  # whoever asks for rows will see it
        return []
    wanted = set(columns)
    found = [list(dict.fromkeys(each)) for each in _above(plan, [], function, wanted)]
    return [sql for sql in found[0] if all(sql in each for each in found)] if found else []


def _above(node: Any, conditions: list[Any], function: str, wanted: set[str]) -> Iterator[list[str]]:
    """Yield the filters above each function of a name below a node, over which there are ``conditions``."""
    kind = node.nodeName()
    if kind == _FUNCTION:
        if _is_named(node, function):
            names = {each.exprId().id(): each.name() for each in _items(node.output())}
            known = {number: name for number, name in names.items() if name in wanted}
            parts = [part for condition in conditions for part in _conjuncts(condition)]
            yield [sql for part in parts if (sql := _sql(part, known)) is not None and _is_about(part)]
            return
        conditions = []
    conditions = [*conditions, node.condition()] if kind == "Filter" else []
    for child in _items(node.children()):
        yield from _above(child, conditions, function, wanted)


def _is_named(node: Any, function: str) -> bool:
    called = (each for each in _items(node.expressions()) if each.nodeName() == "PythonUDF")
    return any(each.name() == function for each in called)


def _items(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(place) for place in range(sequence.size()))


def _conjuncts(condition: Any) -> list[Any]:
    if condition.nodeName() == "And":
        return [*_conjuncts(condition.left()), *_conjuncts(condition.right())]
    return [condition]


def _is_about(condition: Any) -> bool:
    """Say whether a condition is about columns at all, and the same at every look."""
    return bool(condition.deterministic()) and condition.references().size() > 0


def _sql(node: Any, names: Mapping[int, str]) -> str | None:
    """Return a condition as SQL over columns by name; None if it is not made of simple things alone."""
    kind = node.nodeName()
    if kind == "AttributeReference":
        name = names.get(node.exprId().id())
        return None if name is None else identifier(name)
    if kind == "Literal":
        return str(node.sql())
    if kind == "InSet":  # its values are not expressions
        operand, written = _sql(node.child(), names), str(node.sql())
        before = f"({node.child().sql()} IN ("
        return (
            f"({operand} IN ({written.removeprefix(before)}"
            if operand and written.startswith(before)
            else None
        )
    make = _maker(node, kind)
    operands = [_sql(child, names) for child in _items(node.children())] if make is not None else []
    if make is None or None in operands:
        return None
    return make([str(each) for each in operands])


def _maker(node: Any, kind: str) -> Callable[[list[str]], str] | None:
    """Return what makes SQL of the SQL of a node's operands, if the node is a simple thing."""
    if kind == "Like" and str(node.escapeChar()) != "\\":
        return None
    if kind in _BETWEEN:
        return lambda operands: f"({operands[0]} {_BETWEEN[kind]} {operands[1]})"
    if kind in _AROUND:
        return lambda operands: _AROUND[kind].format(operands[0])
    if kind in _CALLS:
        return lambda operands: f"{_CALLS[kind]}({operands[0]}, {operands[1]})"
    if kind == "In":
        return lambda operands: f"({operands[0]} IN ({', '.join(operands[1:])}))"
    if kind == "Cast" and str(node.sql()).startswith("CAST("):
        return lambda operands: f"CAST({operands[0]} AS {node.dataType().sql()})"
    return None
