"""The compiled conditions of a plan: where columns are stored, a program per alternative, user functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa

from fyke.engine.conditions.program import Program, Settings
from fyke.engine.conditions.user_functions import compile_external
from fyke.engine.conditions.values import Exactness, check_exact
from fyke.engine.input.encode import column_uses, encode, time_tick
from fyke.engine.kernels.arrays import NUMBER, Array, Data
from fyke.logical.normal_form import Alternative
from fyke.plan.plan import Plan

AnyProgram = TypeVar("AnyProgram", bound=Program)
MakeProgram = Callable[[Alternative, Mapping[str, int], Settings, Mapping[str, int]], AnyProgram]


class CompiledQuery:
    """The part of a plan's compilation that all engines share; it holds no events."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.uses, self.tick = column_uses(plan), time_tick(plan)
        self.exact: list[Exactness] = []
        numbers = {name: number for number, name in enumerate(plan.functions)}
        self.settings = Settings(
            self.uses, plan.strategy, plan.window, self.tick, numbers, plan.text, plan.schema.points,
            plan.techniques,
        )  # fmt: skip
        self.names = plan.names
        self._functions = [
            compile_external(name, function, plan.arities[name]) for name, function in plan.functions.items()
        ]

    def programs(self, make: MakeProgram[AnyProgram]) -> list[AnyProgram]:
        """Return a program for each alternative."""
        plan = self.plan
        made = [
            make(alternative, _of(number, plan.roles_of), self.settings, _of(number, plan.starts_of))
            for number, alternative in enumerate(plan.alternatives)
        ]
        self.exact += [each for program in made for each in program.compiler.exact]
        return made

    def numbering(self, program: Program) -> Array:
        """Return the numbers that the variables of a program have in the whole query."""
        return np.array([self.names.index(variable.name) for variable in program.variables], NUMBER)

    def encode(self, table: pa.Table, events: Array, literals: list[str]) -> tuple[Data, dict[str, int]]:
        """Return the columns that conditions read, and the ranks of string literals among their strings.

        Raises
        ------
        InputError
            If a value might be too large for a condition to be exact.
        """
        data, ranks = encode(table, self.plan, self.uses, self.tick, events, literals)
        check_exact(self.exact, data.cols_i)
        if self._functions:
            data = data._replace(addresses=np.array([each.address for each in self._functions], np.int64))
        return data, ranks


def _of(number: int, bits: Mapping[tuple[int, str], int]) -> dict[str, int]:
    return {name: bit for (alternative, name), bit in bits.items() if alternative == number}


def literals_of(programs: Sequence[Program]) -> list[str]:
    """Return the string literals that conditions compare with, each once."""
    return list(dict.fromkeys(text for program in programs for text in program.compiler.strings))
