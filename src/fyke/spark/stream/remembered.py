"""What a worker remembers from one micro-batch to the next, up to so many bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Remembered(Generic[Value]):
    """Values by key; those used last stay, as many as take ``most`` units of size together."""

    def __init__(self, most: int) -> None:
        self.most, self.size = most, 0
        self._values: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()

    def get(self, key: Hashable) -> Value | None:
        """Return a value, if it is still there."""
        found = self._values.get(key)
        if found is None:
            return None
        self._values.move_to_end(key)
        return found[0]

    def keep(self, key: Hashable, value: Value, size: int = 1) -> None:
        """Remember a value in place of the one with this key, and forget others if there is no room."""
        self.forget(key)
        self._values[key] = value, size
        self.size += size
        while self.size > self.most:
            self.forget(next(iter(self._values)))

    def forget(self, key: Hashable) -> None:
        """Remember a key no longer, if it is there."""
        self.size -= self._values.pop(key, (None, 0))[1]
