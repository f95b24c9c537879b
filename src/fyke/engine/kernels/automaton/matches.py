"""Matches out of the buffer: every history of a noted match, first event first, in bounded pieces."""

from __future__ import annotations

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.automaton.arena import AutomatonArena
from fyke.engine.kernels.automaton.runs import age_fits
from fyke.engine.kernels.jit import entry, jit
from fyke.engine.kernels.output.matches import close_match, has_room


@jit
def write_chain(w, head):
    """Write a match that has one history."""
    length = w.nodes[head, L.NODE_DEPTH] + 1
    at = w.cursor[L.CURSOR_BINDINGS] + length
    node = head
    while node >= 0:
        at -= 1
        w.out_positions[at] = w.nodes[node, L.NODE_EVENT]
        w.out_variables[at] = w.nodes[node, L.NODE_VARIABLE]
        node = w.nodes[node, L.NODE_PREVIOUS]
    close_match(w, length)


@jit
def write_path(w, length):
    """Write the match whose events and variables, last one first, are in ``path``."""
    at = w.cursor[L.CURSOR_BINDINGS]
    for k in range(length - 1, -1, -1):
        w.out_positions[at] = w.path[2 * k]
        w.out_variables[at] = w.path[2 * k + 1]
        at += 1
    close_match(w, length)


@jit
def count_match(w, event):
    """Count a match of the partition of ``event``; say whether there may be so many."""
    code = w.events[L.EVENT_SEGMENT, event]
    if code != w.cursor[L.CURSOR_COUNTED_OF]:
        w.cursor[L.CURSOR_COUNTED_OF] = code
        w.cursor[L.CURSOR_COUNTED] = 0
    w.cursor[L.CURSOR_COUNTED] += 1
    return w.cursor[L.CURSOR_COUNTED] <= w.limits[L.ALLOWED_MATCHES]


@jit
def walk_back(w, node, last):
    """Follow one history from ``node`` to its begin, and put off the others that fit the window."""
    length, branches = w.cursor[L.CURSOR_PATH], w.cursor[L.CURSOR_BRANCHES]
    while node >= 0:
        event = w.nodes[node, L.NODE_EVENT]
        if event != L.UNION:
            w.path[2 * length] = event
            w.path[2 * length + 1] = w.nodes[node, L.NODE_VARIABLE]
            length += 1
            node = w.nodes[node, L.NODE_PREVIOUS]
            continue
        one, other = w.nodes[node, L.NODE_PREVIOUS], w.nodes[node, L.NODE_VARIABLE]
        if not age_fits(w, w.nodes[one, L.NODE_AGE], last):
            node = other
            continue
        if age_fits(w, w.nodes[other, L.NODE_AGE], last):
            w.branches[2 * branches] = other
            w.branches[2 * branches + 1] = length
            branches += 1
        node = one
    w.cursor[L.CURSOR_PATH] = length
    w.cursor[L.CURSOR_BRANCHES] = branches


@jit
def write_histories(w, head):
    """Write every history of a match; resumable, history by history."""
    last = w.nodes[head, L.NODE_EVENT]
    if w.cursor[L.CURSOR_NODE] == L.FRESH:
        depth, unions = w.nodes[head, L.NODE_DEPTH], w.nodes[head, L.NODE_UNIONS]
        if 2 * depth + 2 > len(w.path) or 2 * unions > len(w.branches):
            return L.NEED_SCRATCH
        w.cursor[L.CURSOR_NODE] = head
        w.cursor[L.CURSOR_PATH] = 0
        w.cursor[L.CURSOR_BRANCHES] = 0
    while True:
        walk_back(w, w.cursor[L.CURSOR_NODE], last)
        w.cursor[L.CURSOR_NODE] = -1
        if not has_room(w, w.cursor[L.CURSOR_PATH]):
            return L.NEED_OUTPUT
        if not count_match(w, last):
            return L.LIMIT_MATCHES
        write_path(w, w.cursor[L.CURSOR_PATH])
        if w.cursor[L.CURSOR_BRANCHES] == 0:
            w.cursor[L.CURSOR_NODE] = L.FRESH
            return L.DONE
        branch = w.cursor[L.CURSOR_BRANCHES] - 1
        w.cursor[L.CURSOR_BRANCHES] = branch
        w.cursor[L.CURSOR_NODE] = w.branches[2 * branch]
        w.cursor[L.CURSOR_PATH] = w.branches[2 * branch + 1]


@jit
def write_noted(w):
    """Write the matches noted in ``heads``; go on where ``cursor`` says, return why it stopped."""
    while w.cursor[L.CURSOR_HEAD] < w.cursor[L.CURSOR_HEADS]:
        head = w.heads[w.cursor[L.CURSOR_HEAD]]
        if w.nodes[head, L.NODE_UNIONS] > 0:
            status = write_histories(w, head)
            if status != L.DONE:
                return status
        else:
            if not has_room(w, w.nodes[head, L.NODE_DEPTH] + 1):
                return L.NEED_OUTPUT
            if not count_match(w, w.nodes[head, L.NODE_EVENT]):
                return L.LIMIT_MATCHES
            write_chain(w, head)
        w.cursor[L.CURSOR_HEAD] += 1
    w.cursor[L.CURSOR_HEADS] = 0
    w.cursor[L.CURSOR_HEAD] = 0
    return L.DONE


@entry
def write_matches(arena: AutomatonArena):
    """Write the noted matches; see :func:`write_noted`."""
    return write_noted(arena)
