"""What a benchmark hands from its own process to the report: sections as JSON, read back as they were."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from bench.report import Line, Plot, Section, Spread


@dataclass(frozen=True, slots=True)
class Record:
    """One benchmark: what it showed, how long it took, and how it ended where that was not the end."""

    name: str
    sections: Sequence[Section] = ()
    seconds: float = 0.0
    holds: bool = True
    broken: str = ""

    @property
    def passed(self) -> bool:
        """Whether it came to its end and every bar holds."""
        return self.holds and not self.broken and all(section.holds for section in self.sections)


def write_record(record: Record, file: Path) -> None:
    """Write a record as JSON."""
    file.write_text(json.dumps(_data(record)))


def read_record(file: Path) -> Record:
    """Read what :func:`write_record` wrote."""
    data = json.loads(file.read_text())
    return Record(**data | {"sections": tuple(map(_section, data["sections"]))})


def _data(value: Any) -> Any:
    """Return the fields of dataclasses by name, and a spread as its three numbers."""
    if isinstance(value, Spread):
        return [value.low, float(value), value.high]
    if isinstance(value, (list, tuple)):
        return [_data(each) for each in value]
    if is_dataclass(value):
        return {each.name: _data(getattr(value, each.name)) for each in fields(value)}
    return value


def _section(data: dict[str, Any]) -> Section:
    lines = tuple(map(_line, data["lines"]))
    plots = tuple(Plot(**each | {"curves": _curves(each["curves"])}) for each in data["plots"])
    return Section(**data | {"lines": lines, "plots": plots})


def _line(data: dict[str, Any]) -> Line:
    value = data["value"]
    return Line(**data | {"value": Spread(value) if isinstance(value, list) else value})


def _curves(data: dict[str, Any]) -> dict[str, list[tuple[float, float]]]:
    return {name: [(x, y) for x, y in points] for name, points in data.items()}
