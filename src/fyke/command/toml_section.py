"""A section of a TOML file, read key by key: what is wrong is told with file, section and key."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fyke.errors import OptionError, listed, near_misses, shown

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_KINDS = {str: "a text", bool: "true or false", Mapping: "a table"}


class Section:
    """A table of a TOML file.  Keys are taken one by one; :meth:`finish` refuses those that nobody took."""

    def __init__(self, file: Path, name: str, values: Mapping[str, Any]) -> None:
        self.file, self.name, self.values = file, name, values
        self._known: list[str] = []

    def wrong(self, key: str, said: str, remedy: str = "") -> OptionError:
        """Return an error about a key."""
        place = f"[{self.name}] {key}" if self.name and key else f"[{self.name}]" if self.name else key
        return OptionError(f"{self.file}: {place}: {said}", remedy=remedy)

    def take(self, key: str, kind: Any) -> Any:
        """Return a value of a kind, or None if the key is not there."""
        self._known.append(key)
        value = self.values.get(key)
        if value is not None and not isinstance(value, kind):
            raise self.wrong(key, f"must be {_KINDS[kind]}, found {shown(value)}")
        return value

    def text(self, key: str, choices: Sequence[str] = ()) -> str | None:
        """Return a text, one of ``choices`` if there are any."""
        value: str | None = self.take(key, str)
        if value is not None and choices and value not in choices:
            said = f"must be one of {', '.join(choices)}, found {shown(value)}.{near_misses(value, choices)}"
            raise self.wrong(key, said)
        return value

    def needed(self, key: str) -> str:
        """Return a text that must be there."""
        value = self.text(key)
        if value is None:
            raise self.wrong(key, "is missing")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a text or a list of texts."""
        self._known.append(key)
        value = self.values.get(key, [])
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            raise self.wrong(key, f"must be a text or a list of texts, found {shown(value)}")
        return tuple(found)

    def flag(self, key: str) -> bool | None:
        """Return true or false."""
        value: bool | None = self.take(key, bool)
        return value

    def options(self, key: str) -> dict[str, str]:
        """Return a table of options of Spark, whose values are texts, numbers or truth values."""
        found = {}
        for name, value in (self.take(key, Mapping) or {}).items():
            if not isinstance(value, (str, int, float)):
                raise self.wrong(f"{key}.{name}", f"must be a text or a number, found {shown(value)}")
            found[name] = str(value).lower() if isinstance(value, bool) else str(value)
        return found

    def section(self, key: str) -> Section:
        """Return a section in this one; it is empty if it is not there."""
        return Section(self.file, f"{self.name}.{key}" if self.name else key, self.take(key, Mapping) or {})

    def sections(self, key: str) -> dict[str, Section]:
        """Return the sections ``[key.NAME]`` by name."""
        outer = self.section(key)
        for name, value in outer.values.items():
            if not isinstance(value, Mapping):
                raise outer.wrong(name, f"stands in a section without a name; write [{key}.NAME] above it")
        return {name: outer.section(name) for name in outer.values}

    def finish(self) -> None:
        """Refuse keys that are not known.

        Raises
        ------
        OptionError
        """
        for key in self.values:
            if key not in self._known:
                raise self.wrong(
                    key, f"is not known.{near_misses(key, self._known)}", f"Known are {listed(self._known)}."
                )


def read_toml(file: Path) -> Section:
    """Return the outermost section of a file.

    Raises
    ------
    OptionError
        If it cannot be read, or is no TOML.
    """
    try:
        return Section(file, "", tomllib.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise OptionError(f"there is no file {str(file)!r}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"{file} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise OptionError(f"{file} is no TOML: {error}") from error
