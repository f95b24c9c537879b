"""The search for the cheapest tree and the cheapest chain order ([T] 3.5.3, algorithms 4 and 5; [L] 6).

Over a chain the subtrees are contiguous stretches, and a dynamic programme over their splits is exact
([T] 5.3.1).  Otherwise every partition of every set is a split; beyond a dozen variables only stretches
of one order of the variables are tried.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from fyke.language.ast import Strategy
from fyke.plan.cost import CostModel, Work
from fyke.plan.tree_shape import Order, Shape, in_sequence, leaves

# Nanoseconds, measured (bench/trees.py): of a tree for a pair it looks at and a row it makes; of a lazy
# search for a candidate and a partial match it goes on from; of the automaton for a run that meets an
# event and for a new one.
PAIR, ROW = 6.0, 55.0
CANDIDATE, LEVEL = 1.6, 45.0
RUN_TRIED, RUN_MADE = 22.0, 100.0
_SETS = 12


@dataclass(frozen=True, slots=True)
class CheapestPlan:
    """A plan of one alternative: a tree or an order, with its work."""

    shape: Shape | None
    order: tuple[str, ...]
    work: Work


def pairs_tried(model: CostModel, left: int, right: int, *, pull: bool) -> float:
    """Return the pairs that a node looks at."""
    tried = model.joined(left, right) * model.preceded(left | right)
    return tried * model.pulled(left) * model.pulled(right) if pull else tried


def rows_made(model: CostModel, mask: int, *, pull: bool) -> float:
    """Return the rows that a node of a set makes: those that can be of use and live until they are pulled."""
    return model.made(mask) * model.preceded(mask) * (model.pulled(mask) if pull else 1.0)


def best_tree(model: CostModel, *, pull: bool = False) -> CheapestPlan:
    """Return the cheapest tree of a model's alternative."""
    if model.count == 1:
        made = model.made(1)
        return CheapestPlan(model.names[0], (), Work(made, made, ROW * made))
    search = _over_sets if not model.chain and model.count <= _SETS else _over_stretches
    shape = _build(model, search(model, pull), model.everything)
    return CheapestPlan(shape, (), tree_work(model, shape, pull=pull))


def _over_stretches(model: CostModel, pull: bool) -> dict[int, int]:
    """Return, for stretches of the variables in order, the left part of the best split."""
    order: Order = frozenset(model.alternative.order)
    bits = [model.bits[name] for name in in_sequence(model.names, order)]
    n = model.count
    masks = {(i, j): sum(bits[i:j]) for i in range(n) for j in range(i + 1, n + 1)}
    least = {(i, i + 1): 0.0 for i in range(n)}
    chosen = {}
    for size in range(2, n + 1):
        for i in range(n - size + 1):
            j = i + size
            costs = [
                (
                    least[i, r]
                    + least[r, j]
                    + PAIR * pairs_tried(model, masks[i, r], masks[r, j], pull=pull),
                    r,
                )
                for r in range(i + 1, j)
            ]
            cost, cut = min(costs)
            least[i, j] = cost + ROW * rows_made(model, masks[i, j], pull=pull)
            chosen[masks[i, j]] = masks[i, cut]
    return chosen


def _over_sets(model: CostModel, pull: bool) -> dict[int, int]:
    """Return, for every set of variables, the left part of the best partition."""
    everything = model.everything
    least, chosen = [0.0] * (everything + 1), {}
    behind = [everything] * (everything + 1)
    product, rows, lives, equal = ([1.0] * (everything + 1) for _ in range(4))
    equalities = [(needs, s) for needs, s, is_equal in model.conditions if is_equal]
    for mask in range(1, everything + 1):
        low = (mask & -mask).bit_length() - 1
        behind[mask] = behind[mask & (mask - 1)] & model.after[low]
        product[mask] = product[mask & (mask - 1)] * model.rates[low]
        equal[mask] = math.prod(s for needs, s in equalities if needs & ~mask == 0)
        rows[mask] = model.orders(mask) * model.selectivity(mask) / equal[mask]
        lives[mask] = rows[mask] * (model.pulled(mask) if pull else 1.0)
    held = [1 / math.factorial(max(0, k - 1)) for k in range(model.count + 1)]
    later = [1 / math.factorial(k) for k in range(model.count + 1)]
    for mask in range(1, everything + 1):
        n = mask.bit_count()
        if n < 2:
            continue
        often = product[mask] * equal[mask] * model.preceded(mask)
        best, cut = math.inf, 0
        top = 1 << (mask.bit_length() - 1)
        rest = mask & ~top
        right = rest
        while right:  # each partition once: the highest variable is on the left
            left = mask & ~right
            cost = least[left] + least[right]
            if cost < best:
                k, m = left.bit_count(), right.bit_count()
                if not right & ~behind[left]:
                    share = held[k] * later[m]
                elif not left & ~behind[right]:
                    share = held[m] * later[k]
                else:
                    share = 2 * held[k] * held[m]
                cost += PAIR * often * share * lives[left] * lives[right]
                if cost < best:
                    best, cut = cost, left
            right = (right - 1) & rest
        least[mask] = best + ROW * often * held[n] * lives[mask]
        chosen[mask] = cut
    return chosen


def _build(model: CostModel, chosen: dict[int, int], mask: int) -> Shape:
    if mask.bit_count() == 1:
        return model.names[mask.bit_length() - 1]
    left = chosen[mask]
    first, second = _build(model, chosen, left), _build(model, chosen, mask & ~left)
    return (second, first) if model.is_sequence(mask & ~left, left) else (first, second)


def tree_work(model: CostModel, shape: Shape, *, pull: bool) -> Work:
    """Return the work of a tree."""
    tried, made = _tree_work(model, shape, pull)
    return Work(tried, made, PAIR * tried + ROW * made)


def _tree_work(model: CostModel, shape: Shape, pull: bool) -> tuple[float, float]:
    if isinstance(shape, str):
        return 0.0, rows_made(model, model.bits[shape], pull=pull)
    left, right = (sum(model.bits[name] for name in leaves(part)) for part in shape)
    tried, made = pairs_tried(model, left, right, pull=pull), rows_made(model, left | right, pull=pull)
    for part in shape:
        inner = _tree_work(model, part, pull)
        tried, made = tried + inner[0], made + inner[1]
    return tried, made


def chain_work(model: CostModel, order: tuple[str, ...]) -> Work:
    """Return the work of a lazy search that binds the variables in an order."""
    tried = made = 0.0
    bound = 0
    for name in order:
        k = model.names.index(name)
        tried += model.bound(bound, k)
        bound |= 1 << k
        made += model.made(bound) if bound != model.everything else 0.0
    return Work(tried, made, CANDIDATE * tried + LEVEL * made)


def best_order(model: CostModel) -> CheapestPlan:
    """Return the cheapest order of a lazy chain: groups last, otherwise any ([L] 4.5, 6)."""
    if model.count > _SETS:
        order = tuple(sorted(model.names, key=lambda name: model.rates[model.names.index(name)]))
        return CheapestPlan(None, order, chain_work(model, order))
    singles = model.everything & ~model.groups
    least: dict[int, tuple[float, tuple[str, ...]]] = {0: (0.0, ())}
    for mask in range(1, model.everything + 1):
        if mask & model.groups and singles & ~mask:
            continue
        options = []
        made = LEVEL * model.made(mask) if mask != model.everything else 0.0
        for k in range(model.count):
            before = mask & ~(1 << k)
            if mask >> k & 1 and before in least:
                if model.groups >> k & 1 == 0 and mask & model.groups:
                    continue
                cost, names = least[before]
                options.append((cost + CANDIDATE * model.bound(before, k) + made, (*names, model.names[k])))
        if options:
            least[mask] = min(options)
    order = least[model.everything][1]
    return CheapestPlan(None, order, chain_work(model, order))


def following_work(model: CostModel) -> Work:
    """Return the work of runs that may not pass over what they can take: one for each start.

    Each binds an event at most once: one of a single variable, of a group those that the window holds.  Under
    contiguity it ends with the first row that does not fit.
    """
    rows = max(model.statistics.window_rows, sum(model.statistics.rates.values()), 1.0)
    order: Order = frozenset(model.alternative.order)
    kinds = {variable.name: variable for variable in model.alternative.variables}
    relevant = sum(map(model.statistics.rate, model.names))
    starts, taken, read, reached = 0.0, 0.0, 0.0, 1.0
    for number, name in enumerate(in_sequence(model.names, order)):
        rate, variable = model.statistics.rate(name), kinds[name]
        if not model.before[model.names.index(name)]:
            starts += rate
        fits = min(1.0, rate / rows) if model.strategy.contiguous else 1.0
        reached *= fits if number else 1.0
        longest = rate if variable.maximum is None else min(rate, variable.maximum)
        again = min(longest, 1 / max(1 - fits, 1e-3)) if model.strategy.contiguous else longest
        taken += reached * (max(1.0, again) if variable.group else 1.0)
        read += relevant if variable.group else min(relevant, relevant / max(rate, 1e-6))
    starts *= model.in_sequence_share()
    read = taken if model.strategy.contiguous else max(taken, read)
    return Work(starts * read, starts * taken, starts * (RUN_TRIED * read + RUN_MADE * taken))


def automaton_work(model: CostModel) -> Work:
    """Return the work of the automaton: all runs of all states, in the order in which events arrive.

    An event starts no run if its window lacks what a match needs ([S] 5.2.2).
    """
    if model.strategy is not Strategy.ANY:
        return following_work(model)
    if model.elements and not model.alternative.conditions and model.chain:
        # Nothing tells the runs of a state apart: each event makes one run, and it is merged.
        rates = sum(map(model.statistics.rate, model.names))
        return Work(2 * rates, rates, (2 * RUN_TRIED + RUN_MADE) * rates)
    tried = made = 0.0
    seen, waiting = {0}, [0]
    while waiting:
        bound = waiting.pop()
        for k in range(model.count):
            if bound >> k & 1 or model.before[k] & ~bound:
                continue
            after = bound | 1 << k
            tried += model.arrived(bound, k)
            if after not in seen:
                seen.add(after)
                waiting.append(after)
                made += model.made(after)
    share = model.in_sequence_share()
    return Work(share * tried, share * made, share * (RUN_TRIED * tried + RUN_MADE * made))
