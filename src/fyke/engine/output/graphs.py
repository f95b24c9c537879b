"""Matches that end with the same event as one shared graph each ([N] 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fyke.engine.kernels.arrays import Array
from fyke.engine.kernels.automaton.graphs import EVENT, GRAPH_SIZE, ONE, VARIABLE
from fyke.engine.matchset import MatchSet


@dataclass(frozen=True, slots=True)
class GraphSet:
    """Graphs of matches.

    Graph g ends with the event at position ``ends[g]``, has ``counts[g]`` matches (-1: more than an
    integer can say), its nodes up to ``node_ends[g]`` and, in ``lasts`` up to ``last_ends[g]``, the
    nodes at which a match ends.  A node is (position, variable, predecessor, other predecessor), where
    predecessors are places in the graph, or -1; a node without a position joins two histories.
    """

    nodes: Array
    node_ends: Array
    lasts: Array
    last_ends: Array
    ends: Array
    counts: Array

    def __len__(self) -> int:
        return len(self.ends)

    def matches(self) -> int:
        """Return the number of matches, or -1 if it does not fit an integer."""
        return -1 if bool((self.counts < 0).any()) else sum(map(int, self.counts))


def concat_graphs(sets: Sequence[GraphSet]) -> GraphSet:
    """Return the graphs of several sets, one after the other."""
    nodes = np.cumsum([0, *(len(each.nodes) for each in sets)])
    lasts = np.cumsum([0, *(len(each.lasts) for each in sets)])
    empty = np.zeros(0, np.int64)
    return GraphSet(
        np.concatenate([np.zeros((0, GRAPH_SIZE), np.int64), *(each.nodes for each in sets)]),
        np.concatenate([empty, *(each.node_ends + nodes[k] for k, each in enumerate(sets))]),
        np.concatenate([empty, *(each.lasts for each in sets)]),
        np.concatenate([empty, *(each.last_ends + lasts[k] for k, each in enumerate(sets))]),
        np.concatenate([empty, *(each.ends for each in sets)]),
        np.concatenate([empty, *(each.counts for each in sets)]),
    )


def share_ends(graphs: GraphSet) -> GraphSet:
    """Return graphs of which no two end with the same event: those that did are one, with equal nodes shared.

    A search that stops to ask for room, or that goes back, writes the matches of an event in pieces.
    """
    ends, row, pieces = np.unique(graphs.ends, return_inverse=True, return_counts=True)
    if len(ends) == len(graphs):
        return graphs
    whole = select_graphs(graphs, np.flatnonzero(pieces[row] == 1))
    parts = np.flatnonzero(pieces[row] > 1)
    parts = parts[np.argsort(row[parts], kind="stable")]
    united = np.split(parts, np.flatnonzero(np.diff(row[parts])) + 1)
    return concat_graphs(
        [whole, *(_united([select_graphs(graphs, part[None]) for part in each]) for each in united)]
    )


def select_graphs(graphs: GraphSet, numbers: Array) -> GraphSet:
    """Return some of the graphs."""
    nodes, node_ends = _stretches(graphs.node_ends, numbers)
    lasts, last_ends = _stretches(graphs.last_ends, numbers)
    ends, counts = graphs.ends[numbers], graphs.counts[numbers]
    return GraphSet(graphs.nodes[nodes], node_ends, graphs.lasts[lasts], last_ends, ends, counts)


def _stretches(ends: Array, numbers: Array) -> tuple[Array, Array]:
    """Return the places of some of the stretches up to ``ends``, and where each of them ends among these."""
    lengths = np.diff(np.concatenate(([0], ends)))[numbers]
    after = np.cumsum(lengths)
    return np.repeat(ends[numbers] - after, lengths) + np.arange(int(lengths.sum())), after


def _united(graphs: Sequence[GraphSet]) -> GraphSet:
    """Return graphs that end with the same event as one."""
    nodes, places = _shared([each.nodes for each in graphs])
    lasts = np.concatenate([place[each.lasts] for place, each in zip(places, graphs, strict=True)])
    counts = [int(each.counts[0]) for each in graphs]
    total = -1 if min(counts) < 0 or sum(counts) >= 2**63 else sum(counts)
    numbers = (np.array([number], np.int64) for number in (len(nodes), len(lasts), total))
    node_ends, last_ends, count = numbers
    return GraphSet(nodes, node_ends, lasts, last_ends, graphs[0].ends, count)


def _shared(graphs: Sequence[Array]) -> tuple[Array, list[Array]]:
    """Return the nodes of graphs as those of one, last ones first, and the places of each graph's own."""
    known: dict[tuple[int, ...], int] = {}
    places = []
    for nodes in graphs:
        place = np.empty(len(nodes), np.int64)
        for k in range(len(nodes) - 1, -1, -1):  # a node comes after those that lead to it
            event, variable, *links = map(int, nodes[k])
            key = (event, variable, *(int(place[link]) if link >= 0 else -1 for link in links))
            place[k] = known.setdefault(key, len(known))
        places.append(place)
    shared = np.array(list(known), np.int64).reshape(-1, GRAPH_SIZE)
    last = len(shared) - 1
    shared[:, ONE:] = np.where(shared[:, ONE:] >= 0, last - shared[:, ONE:], -1)
    return shared[::-1].copy(), [last - place for place in places]


def graphs_of(matches: MatchSet) -> GraphSet:
    """Return matches as graphs in which matches that begin alike share their beginning."""
    if len(matches) == 0:
        return concat_graphs([])
    last = matches.positions[matches.offsets[1:] - 1]
    ends, row = np.unique(last, return_inverse=True)
    node, group = np.full(len(matches), -1, np.int64), row.astype(np.int64)
    levels, owners, total = [], [], 0
    for level in range(int(matches.lengths.max())):
        here = np.flatnonzero(matches.lengths > level)
        at = matches.offsets[:-1][here] + level
        keys = np.stack((group[here], matches.positions[at], matches.variables[at]), axis=1)
        distinct, first, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        found = np.full((len(distinct), GRAPH_SIZE), -1, np.int64)
        found[:, EVENT], found[:, VARIABLE] = distinct[:, 1], distinct[:, 2]
        found[:, ONE] = node[here[first]]
        levels.append(found)
        owners.append(row[here[first]])
        node[here] = total + number.reshape(-1)
        group[here] = len(ends) + node[here]
        total += len(distinct)
    return _by_row(np.concatenate(levels), np.concatenate(owners), ends, row, node)


def _by_row(nodes: Array, owners: Array, ends: Array, row: Array, last: Array) -> GraphSet:
    """Put the nodes of each graph together, and number predecessors by their places in it."""
    order = np.argsort(owners, kind="stable")
    node_ends = np.cumsum(np.bincount(owners, minlength=len(ends)))
    begins = np.concatenate(([0], node_ends[:-1]))
    place = np.empty(len(nodes), np.int64)
    place[order] = np.arange(len(nodes)) - begins[owners[order]]
    nodes = nodes[order]
    linked = nodes[:, ONE] >= 0
    nodes[linked, ONE] = place[nodes[linked, ONE]]
    counts = np.bincount(row, minlength=len(ends)).astype(np.int64)
    lasts = place[last[np.argsort(row, kind="stable")]]
    return GraphSet(nodes, node_ends.astype(np.int64), lasts, np.cumsum(counts), ends, counts)
