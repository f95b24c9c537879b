"""The expected work of evaluating an alternative, for all engines in one unit ([T] 5.3, [L] 6).

Work is what happens per window of time: partial matches *tried* (pairs looked at, conditions decided) and
*made*.  For a set S of n variables with rates r, a window sees

    n * product of r * (share of orders that S allows) * product of selectivities of conditions within S

partial matches of S.  The factor n is there because a window may begin with any of its events.  [T] 5.3
takes one half for every sequence join; counting the allowed orders instead is exact for independent
events.  Only conditions that fit a subtree and cross its root reduce what its root tries ([T] 3.5.4).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from fyke.language.ast import Strategy
from fyke.logical.normal_form import Alternative, Condition, Variable
from fyke.plan.statistics import Statistics, is_equality

MOST_LISTS = 1e12
_POINTS = 24  # steps of an integral over a window
_EXACT = 14  # up to so many variables the orders of a set are counted exactly, even if it is no chain


@dataclass(frozen=True, slots=True)
class Work:
    """Expected work per window: partial matches tried, made, and what that costs in nanoseconds."""

    tried: float
    made: float
    cost: float


class CostModel:
    """Cardinalities of sets of variables, which are bit masks over ``names``."""

    def __init__(
        self,
        alternative: Alternative,
        statistics: Statistics,
        texts: Mapping[Condition, str] | None = None,
        *,
        strategy: Strategy = Strategy.ANY,
        elements: bool = False,
    ) -> None:
        """Take up an alternative; with ``elements`` its lists are never listed, only their elements are."""
        self.alternative, self.texts = alternative, texts or {}
        self.strategy, self.elements = strategy, elements
        self.names = [variable.name for variable in alternative.variables]
        self.count = len(self.names)
        bits = {name: 1 << k for k, name in enumerate(self.names)}
        self.bits = bits
        self.before, self.after = [0] * self.count, [0] * self.count
        for u, v in alternative.order:
            if u in bits and v in bits:
                self.before[self.names.index(v)] |= bits[u]
                self.after[self.names.index(u)] |= bits[v]
        self.chain = sum(mask.bit_count() for mask in self.before) == self.count * (self.count - 1) // 2
        self.statistics = statistics
        groups = {v.name for v in alternative.variables if v.group}
        self.conditions = [
            (
                sum(bits[name] for name in each.variables),
                max(self.holds(each), 1e-6),
                is_equality(each) and not each.variables & groups,
            )
            for each in alternative.conditions
            if len(each.variables) > 1
        ]
        self.rates = [self._rate(variable) for variable in alternative.variables]
        self.groups = sum(bits[name] for name in groups)
        self._orders: dict[int, float] = {0: 1.0}
        # A plan search asks for the same sets again and again.
        self._product: dict[int, float] = {}
        self._selectivity: dict[int, float] = {}
        self._preceded: dict[int, float] = {}
        self._pulled: dict[int, float] = {}

    @cached_property
    def everything(self) -> int:
        """The mask of all variables."""
        return (1 << self.count) - 1

    def _rate(self, variable: Variable) -> float:
        """Return how many events, or lists of a group, a window holds."""
        rate = self.statistics.rate(variable.name)
        if not variable.group or self.elements:
            return max(rate, 1e-6)
        own = [each for each in self.alternative.conditions if each.variables == {variable.name}]
        grows = math.prod(self.holds(each) for each in own if each.lagged)
        total, ways = 0.0, 1.0
        most = variable.maximum if variable.maximum is not None else 64
        for length in range(1, most + 1):
            ways *= max(rate - length + 1, 0.0) / length * (grows if length > 1 else 1.0)
            if ways < 1e-9 or total > MOST_LISTS:
                break
            total += ways
        return min(max(total, 1e-6), MOST_LISTS)

    def holds(self, condition: Condition) -> float:
        """Return how often a condition holds."""
        return self.statistics.selectivity(condition, self.texts.get(condition, ""))

    # --- sets of variables --------------------------------------------------------------

    def product(self, mask: int) -> float:
        """Return the product of the rates of a set."""
        if mask not in self._product:
            self._product[mask] = math.prod(self.rates[k] for k in _members(mask))
        return self._product[mask]

    def selectivity(self, mask: int) -> float:
        """Return the product of the selectivities of all conditions within a set."""
        if mask not in self._selectivity:
            inside = (s for needs, s, _ in self.conditions if needs & ~mask == 0)
            self._selectivity[mask] = math.prod(inside)
        return self._selectivity[mask]

    def equalities(self, left: int, right: int) -> float:
        """Return the selectivity of the equalities that cross from one set to another."""
        crossing = (s for needs, s, equal in self.conditions if equal and needs & left and needs & right)
        return math.prod(crossing)

    def orders(self, mask: int) -> float:
        """Return the number of orders of a set that the pattern allows."""
        if self.chain:
            return 1.0
        if mask not in self._orders:
            if self.count > _EXACT:
                n = mask.bit_count()
                ordered = sum((self.before[k] & mask).bit_count() for k in range(n) if mask >> k & 1)
                share = ordered / max(1, n * (n - 1) // 2)
                self._orders[mask] = math.factorial(n) ** (1 - share)
            else:
                self._orders[mask] = sum(
                    self.orders(mask & ~(1 << k))
                    for k in range(self.count)
                    if mask >> k & 1 and self.after[k] & mask == 0
                )
        return self._orders[mask]

    def made(self, mask: int) -> float:
        """Return how many partial matches of a set arise per window."""
        n = mask.bit_count()
        return n * self.product(mask) * self.orders(mask) / math.factorial(n) * self.selectivity(mask)

    def joined(self, left: int, right: int) -> float:
        """Return how many pairs a node looks at per window; order and hashed equalities reduce them.

        Rows are held until their last event leaves the window, so a pair may be looked at whose first event
        has left it.  There are k times as many rows of k variables with their last event in a window as begin
        in it; the later side of a sequence, of m variables, leaves 1/m! of the window's pairs to try.
        """
        k, m = left.bit_count(), right.bit_count()
        if self.is_sequence(left, right):
            share = 1 / (math.factorial(k - 1) * math.factorial(m))
        elif self.is_sequence(right, left):
            share = 1 / (math.factorial(m - 1) * math.factorial(k))
        else:  # what is new on either side meets all of the other
            share = 2 / (math.factorial(k - 1) * math.factorial(m - 1))
        pairs = self.product(left | right) * self.orders(left) * self.orders(right) * share
        return pairs * self.selectivity(left) * self.selectivity(right) * self.equalities(left, right)

    def preceded(self, mask: int) -> float:
        """Return how often everything that must come before a set is in its window ([T] 4.2)."""
        if mask not in self._preceded:
            before = self._around(self.before, mask)
            self._preceded[mask] = math.prod(map(self._present, _members(before)))
        return self._preceded[mask]

    def pulled(self, mask: int) -> float:
        """Return the share of a set's partial matches that a pull makes: those still alive when asked for.

        An operator is pulled when its right side has something new ([T] 4.1): when, after the set's own
        events, all later ones have come in their order.  That takes the sum of as many waiting times.
        """
        if mask not in self._pulled:
            later = self._around(self.after, mask)
            waits = [1 / max(self.statistics.rate(self.names[k]), 1e-6) for k in _members(later)]
            share = within(len(waits), len(waits) / sum(waits), mask.bit_count() - 1) if waits else 1.0
            self._pulled[mask] = share
        return self._pulled[mask]

    def _around(self, side: list[int], mask: int) -> int:
        """Return the variables outside a set that are before, or after, one of its variables."""
        found = 0
        for k in _members(mask):
            found |= side[k]
        return found & ~mask

    def _present(self, k: int) -> float:
        return 1.0 - math.exp(-max(self.statistics.rate(self.names[k]), 1e-6))

    def bound(self, mask: int, k: int) -> float:
        """Return how many candidates a lazy search looks at when it binds variable ``k`` after a set."""
        both = mask | 1 << k
        n = both.bit_count()
        ranges = n * self.product(both) * self.orders(both) / math.factorial(n)
        return ranges * self.selectivity(mask) * self.equalities(mask, 1 << k)

    def arrived(self, mask: int, k: int) -> float:
        """Return how many runs of a set are looked at when events of variable ``k`` arrive after it."""
        n = mask.bit_count() + 1
        return (
            n * self.product(mask | 1 << k) * self.orders(mask) / math.factorial(n) * self.selectivity(mask)
        )

    def in_sequence_share(self) -> float:
        """Return the share of possible first events that have all others after them in the window.

        With n others whose rates have the harmonic mean h, it is about the probability that a Poisson
        variable of mean h is at least n; without an order, the probability that all are there.
        """
        others = [max(self.statistics.rate(name), 1e-9) for name in self.names]
        if not self.chain or len(others) < 2:
            return self.present_share()
        del others[0 if len(self.before) == 0 else self.before.index(0)]
        mean = len(others) / sum(1 / rate for rate in others)
        below = sum(math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(len(others)))
        return min(1.0, max(1.0 - below, 1e-3))

    def present_share(self) -> float:
        """Return how often a window holds an event of every variable."""
        return math.prod(map(self._present, range(self.count)))

    def near_share(self) -> float:
        """Return the share of events within a window of an event of the rarest variable ([L] 4)."""
        rarest = min(range(self.count), key=lambda k: self.statistics.rate(self.names[k]))
        others = self.everything & ~(1 << rarest)
        sides = 1 if others in (self.before[rarest], self.after[rarest]) else 2
        return 1.0 - math.exp(-sides * self.statistics.rate(self.names[rarest]))

    def is_sequence(self, left: int, right: int) -> bool:
        """Say whether everything in one set is before everything in another."""
        return all(right & ~self.after[k] == 0 for k in range(self.count) if left >> k & 1)


def _members(mask: int) -> list[int]:
    return [k for k in range(mask.bit_length()) if mask >> k & 1]


def within(waits: int, rate: float, power: int) -> float:
    """Return the expectation of ``max(0, 1 - D) ** power``, where D is the sum of exponential waiting times.

    It is the share of the partial matches of ``power + 1`` variables in a window that are still in it when
    ``waits`` more events have come one after the other.
    """
    if rate >= 2 * power:  # then these recurrences in both numbers lose no digits
        below = math.exp(-rate)
        none = [1.0] * (power + 1)
        chance, term = 1.0, below
        for number in range(1, waits + 1):
            chance -= term
            term *= rate / number
            row = [chance]
            for m in range(1, power + 1):
                row.append(none[m] - m / rate * row[m - 1])
            none = row
        return min(1.0, max(none[power], 0.0))
    points = ((x + 0.5) / _POINTS for x in range(_POINTS))
    log = waits * math.log(rate) - math.lgamma(waits)
    density = (math.exp(log + (waits - 1) * math.log(x) - rate * x) * (1 - x) ** power for x in points)
    return min(1.0, sum(density) / _POINTS)
