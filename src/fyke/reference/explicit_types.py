"""Types made explicit, so that values alone decide: where the type of an expression rounds, a CAST says so.

The value of ``a.d * b.d`` depends on how many digits the columns have, and that of ``coalesce(a.i, a.f)``
is a float even where it comes from ``a.i``; a Python value does not know of its column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from fyke.language.ast import Binary, Call, Cast, Expression, Reference, map_children
from fyke.logical.normal_form import Absence, Alternative, Condition
from fyke.logical.returns import Output
from fyke.reference.types import Attribute, item_type
from fyke.reference.values import INSTANT

_ARITHMETIC = frozenset("+-*/%")
_OF_ONE_TYPE = {"coalesce": 0, "least": 0, "greatest": 0, "if": 1}  # from which argument on


def attributes_of(columns: Mapping[str, pa.DataType]) -> Attribute:
    """Return what tells the types of attributes, which are those of the columns."""

    def attribute(reference: Reference) -> pa.DataType:
        kind = columns[reference.path[0]]
        for name in reference.path[1:]:
            kind = kind.field(name).type
        return kind

    return attribute


def with_casts(node: Expression, types: Attribute) -> Expression:
    """Return an expression with a CAST wherever the type of its value is not that of the values in it."""
    made = map_children(node, lambda child: with_casts(child, types))
    if not isinstance(node, (Binary, Call)):
        return made
    kind = item_type(node, types)
    if isinstance(node, Call) and node.function in _OF_ONE_TYPE:
        return _of_one_type(node, made, kind, types)
    rounds = (isinstance(node, Binary) and node.operator in _ARITHMETIC) or (
        isinstance(node, Call) and node.function in ("mod", "round")
    )
    return Cast(made, _name(kind)) if rounds and pa.types.is_decimal(kind) else made


def _name(kind: pa.DataType) -> str:
    if pa.types.is_timestamp(kind):
        return INSTANT
    return f"DECIMAL({kind.precision}, {kind.scale})" if pa.types.is_decimal(kind) else "DOUBLE"


def _of_one_type(part: Call, made: Expression, kind: pa.DataType, types: Attribute) -> Expression:
    assert isinstance(made, Call)
    if not (pa.types.is_decimal(kind) or pa.types.is_float64(kind) or pa.types.is_timestamp(kind)):
        return made
    first, name = _OF_ONE_TYPE[part.function], _name(kind)
    alike = (kind, pa.null())
    arguments = [
        Cast(new, name) if number >= first and item_type(old, types) not in alike else new
        for number, (old, new) in enumerate(zip(part.arguments, made.arguments, strict=True))
    ]
    return replace(made, arguments=tuple(arguments))


def alternative_with_casts(alternative: Alternative, types: Attribute) -> Alternative:
    """Return an alternative whose conditions have their types spelt out."""

    def condition(each: Condition) -> Condition:
        return replace(each, expression=with_casts(each.expression, types))

    def absence(each: Absence) -> Absence:
        nested = tuple(map(absence, each.absences))
        return replace(each, conditions=tuple(map(condition, each.conditions)), absences=nested)

    return replace(
        alternative,
        conditions=tuple(map(condition, alternative.conditions)),
        absences=tuple(map(absence, alternative.absences)),
    )


def output_with_casts(output: Output, types: Attribute) -> Output:
    """Return the columns of a result with their types spelt out."""
    columns = (replace(each, expression=with_casts(each.expression, types)) for each in output.columns)
    return replace(output, columns=tuple(columns))
