"""The shape of a join tree: a variable, or a pair of shapes ([T] 3.5)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

Shape = str | tuple["Shape", "Shape"]
Order = frozenset[tuple[str, str]]


def leaves(shape: Shape) -> list[str]:
    """Return the variables of a shape from left to right.

    >>> leaves((("a", "b"), "c"))
    ['a', 'b', 'c']
    """
    return [shape] if isinstance(shape, str) else leaves(shape[0]) + leaves(shape[1])


def show(shape: Shape) -> str:
    """Return a shape as text.

    >>> show((("a", "b"), "c"))
    '((a b) c)'
    """
    return shape if isinstance(shape, str) else f"({show(shape[0])} {show(shape[1])})"


def left_deep(names: Sequence[str]) -> Shape:
    """Return the tree that joins one variable after the other ([T] 3.5.2).

    >>> show(left_deep("abc"))
    '((a b) c)'
    """
    shape: Shape = names[0]
    for name in names[1:]:
        shape = (shape, name)
    return shape


def every_shape(names: Sequence[str]) -> Iterator[Shape]:
    """Yield all trees whose leaves are these variables in this order.

    >>> len(list(every_shape("abcde")))
    14
    """
    if len(names) == 1:
        yield names[0]
    for cut in range(1, len(names)):
        for left in every_shape(names[:cut]):
            for right in every_shape(names[cut:]):
                yield (left, right)


def restrict(shape: Shape, names: Collection[str]) -> Shape | None:
    """Return a shape without the variables that are not among ``names``.

    >>> show(restrict((("a", "b"), "c"), {"a", "c"}))
    '(a c)'
    """
    if isinstance(shape, str):
        return shape if shape in names else None
    left, right = restrict(shape[0], names), restrict(shape[1], names)
    if left is None or right is None:
        return left if right is None else right
    return (left, right)


def in_sequence(names: Sequence[str], order: Order) -> list[str]:
    """Return variables so that each comes after those ordered before it; otherwise as given."""
    left, found = list(names), []
    while left:
        chosen = next(name for name in left if not any((other, name) in order for other in left))
        left.remove(chosen)
        found.append(chosen)
    return found


def is_left_first(left: Collection[str], right: Collection[str], order: Order) -> bool:
    """Say whether each variable on the left is before some variable on the right.

    Then a row on the left joins only with rows on the right that end later.
    """
    return all(any((u, v) in order for v in right) for u in left)


def last_variable(names: Sequence[str], order: Order) -> str | None:
    """Return the only variable that can end a match, if there is one."""
    last = [name for name in names if not any((name, other) in order for other in names)]
    return last[0] if len(last) == 1 else None


def orient(shape: Shape, order: Order) -> Shape:
    """Return the same joins with later variables on the right, so that the right-most path drives."""
    if isinstance(shape, str):
        return shape
    left, right = orient(shape[0], order), orient(shape[1], order)
    u, v = leaves(left), leaves(right)
    return (right, left) if not is_left_first(u, v, order) and is_left_first(v, u, order) else (left, right)
