r"""Regular expressions that mean the same to Arrow (RE2), Java and Python.

Each has a dialect of its own: what ``.``, ``$``, ``\s`` and ``\w`` are, what letters differ by case alone.
Here is what they share, read once and written anew for each of them, with every such thing spelt out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

LARGEST = 1_000  # characters to match, with all repetitions written out: RE2 takes no more

_CLASSES = {"d": "0-9", "w": "0-9A-Z_a-z", "s": r"\t\n\f\r "}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BOUNDS = re.compile(r"\{([0-9]{1,4})(,?)([0-9]{0,4})\}")
_ENDLESS = 2  # how often what repeats without an end is counted


class RegularExpressionError(ValueError):
    """What is wrong with a regular expression, and at which character."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a character that might mean something else is written, and the end of a text."""

    character: Callable[[str], str]
    end: str


ARROW = JAVA = Dialect(lambda char: rf"\x{{{ord(char):x}}}", r"\z")
PYTHON = Dialect(lambda char: rf"\U{ord(char):08x}", r"\Z")


def translated(pattern: str, dialect: Dialect) -> str:
    """Return a regular expression, to be looked for anywhere in a text, in a dialect.

    Raises
    ------
    RegularExpressionError
        If it is none, or has more in it than all dialects share.
    """
    reader = _Reader(pattern, dialect)
    written, size = reader.alternatives()
    if reader.at < len(pattern):
        reader.fail("')' closes nothing")
    if size > LARGEST:
        reader.fail(f"with its repetitions written out it has more than {LARGEST} characters")
    return written


class _Reader:
    """Reads from left to right; each method returns what it wrote, and how many characters that matches."""

    def __init__(self, pattern: str, dialect: Dialect) -> None:
        self.pattern, self.dialect, self.at, self.depth = pattern, dialect, 0, 0

    def fail(self, message: str) -> NoReturn:
        raise RegularExpressionError(f"{message} (character {self.at + 1})")

    def _next(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _take(self, what: str) -> bool:
        found = self.pattern.startswith(what, self.at)
        self.at += len(what) if found else 0
        return found

    def alternatives(self) -> tuple[str, int]:
        written, size = self._sequence()
        while self._take("|"):
            more, added = self._sequence()
            written, size = f"{written}|{more}", size + added
        return written, size

    def _sequence(self) -> tuple[str, int]:
        parts, size = [], 0
        while self._next() and self._next() not in "|)":
            written, added = self._repeated(*self._atom())
            parts.append(written)
            size += added
            if size > LARGEST:
                self.fail(f"with its repetitions written out it has more than {LARGEST} characters")
        return "".join(parts), size

    def _repeated(self, atom: str, size: int) -> tuple[str, int]:
        bounds = _BOUNDS.match(self.pattern, self.at)
        if self._next() in ("*", "+", "?"):
            sign, times = self._next(), 1 if self._next() == "?" else _ENDLESS
            self.at += 1
        elif bounds is not None:
            least, comma, most = bounds.groups()
            if most and int(most) < int(least):
                self.fail(f"no number is in {bounds[0]}")
            sign, times = bounds[0], int(most or least) + (_ENDLESS if comma and not most else 0)
            self.at = bounds.end()
        else:
            if self._next() == "{":
                self.fail("'{' begins a number of repetitions; the character itself is written \\{")
            return atom, size
        if size == 0:
            self.fail(f"nothing is there that {sign} could repeat")
        self._take("?")  # whether much or little is taken makes no difference to whether there is any
        if self._next() in ("*", "+", "?") or _BOUNDS.match(self.pattern, self.at):
            self.fail("two repetitions stand behind one another")
        return f"(?:{atom}){sign}", size * max(1, times)

    def _atom(self) -> tuple[str, int]:
        char = self._next()
        self.at += 1
        if char == "(":
            return self._group()
        if char == "[":
            return self._class(), 1
        if char == "\\":
            return self._escape()
        if char == ".":
            return r"[^\n]", 1
        if char == "^":
            return r"\A", 0
        if char == "$":
            return self.dialect.end, 0
        if char in ("*", "+", "?", "{", "]", "}"):
            self.at -= 1
            self.fail(f"{char!r} has nothing before it; the character itself is written \\{char}")
        return self._character(char), 1

    def _group(self) -> tuple[str, int]:
        if self._next() == "?" and not self._take("?:"):
            self.fail("a group that begins with (? is not known to all; case is ignored with lower(a.x)")
        self.depth += 1
        if self.depth > 50:
            self.fail("groups are nested deeper than 50")
        written, size = self.alternatives()
        self.depth -= 1
        if not self._take(")"):
            self.fail("'(' is never closed")
        return f"(?:{written})", size

    def _escape(self) -> tuple[str, int]:
        char = self._next()
        self.at += 1
        if char.lower() in _CLASSES and char:
            negated = "^" if char.isupper() else ""
            return f"[{negated}{_CLASSES[char.lower()]}]", 1
        if char in ("A", "z"):
            return (r"\A" if char == "A" else self.dialect.end), 0
        return self._character(self._escaped(char)), 1

    def _escaped(self, char: str) -> str:
        if char in _CONTROLS:
            return _CONTROLS[char]
        if not char or char.isalnum():
            self.at -= 1
            self.fail(f"\\{char} is not known to all")
        return char

    def _class(self) -> str:
        parts = ["^"] if self._take("^") else []
        start = len(parts)
        while self._next() != "]" or len(parts) == start:
            if not self._next():
                self.fail("'[' is never closed")
            if self._next() == "[" or self.pattern.startswith(("&&", "--", "~~", "||"), self.at):
                self.fail(f"{self._next()!r} inside [...] is written \\{self._next()}")
            parts.append(self._member())
        self.at += 1
        return f"[{''.join(parts)}]"

    def _member(self) -> str:
        first = self._one()
        if first is None:
            return _CLASSES[self.pattern[self.at - 1]]
        ranged = self._next() == "-" and self.pattern[self.at + 1 : self.at + 2] not in ("]", "")
        if not ranged:
            return self._character(first)
        self.at += 1
        last = self._one()
        if last is None or last < first:
            self.fail(f"there is no range from {first!r} to {self.pattern[self.at - 1]!r}")
        return f"{self._character(first)}-{self._character(last)}"

    def _one(self) -> str | None:
        """Take one character of a class; None if it stands for several."""
        char = self._next()
        self.at += 1
        if char != "\\":
            return char
        char = self._next()
        self.at += 1
        return None if char in _CLASSES else self._escaped(char)

    def _character(self, char: str) -> str:
        plain = char.isascii() and (char.isalnum() or char in " _,;:/@'\"=<>!%")
        return char if plain else self.dialect.character(char)
