"""Rows of a join tree: buffers of partial matches, groups as linked lists, buckets of equal keys.

A row is a partial match: the position of each single variable, the number of a list for each group.
The rows of a node are sorted by their last event, so that order and window are ranges; what has left
the window is a prefix, or is dropped when room is needed.  The rows of a group's leaf are its lists,
each a link to the list it extends: they keep their numbers when the buffer moves.
"""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.hashing import fold
from fyke.engine.kernels.jit import jit
from fyke.engine.kernels.tree import layout as T


@jit
def node_at(w, node):
    """Return where the table of a node begins."""
    return w.tree[T.TREE_TABLE] + node * T.NODE_SIZE


@jit
def row_at(w, node, index):
    """Return where a row of a node begins."""
    width = w.tree[w.tree[T.TREE_TABLE] + node * T.NODE_SIZE + T.NODE_WIDTH]
    return w.buffers[node, T.BUFFER_BEGIN] + index * width


@jit
def oldest_row(w):
    """Return the first position that can be in one match with the event of this pass."""
    event = w.cursor[T.AT_EVENT]
    oldest = w.reach[L.REACH_FIRST, event]
    if w.tree[T.TREE_STRICT]:
        oldest = max(oldest, event - w.tree[T.TREE_STRICT] + 1)
    return oldest


# --- buckets ----------------------------------------------------------------------------------


@jit
def is_hashed(w, node):
    """Say whether the parent finds rows of a node by equal keys."""
    at = node_at(w, node)
    return w.tree[at + T.NODE_KEY] < w.tree[at + T.NODE_KEY_END]


@jit
def hash_of(w, node, row):
    """Return the hash of a row's keys and whether none of them is null."""
    at, first = node_at(w, node), w.tree[T.TREE_KEYS]
    value = np.uint64(0)
    for k in range(w.tree[at + T.NODE_KEY], w.tree[at + T.NODE_KEY_END]):
        spec = first + k * T.KEY_SIZE
        key = w.keys[w.tree[spec + T.KEY_KEYS] + w.rows[row + w.tree[spec + T.KEY_COLUMN]]]
        if key == L.NULL_KEY:
            return np.uint64(0), False
        value = fold(value, key)
    return value, True


@jit
def bucket_of(w, node, value):
    """Return the bucket of a hash among the rows of a node."""
    inside = np.int64(value & np.uint64(w.buffers[node, T.BUFFER_MASK]))
    return w.buffers[node, T.BUFFER_BUCKETS] + inside


@jit
def link(w, node, index):
    """Put a row at the front of its bucket; a null is in none."""
    row = row_at(w, node, index)
    value, known = hash_of(w, node, row)
    if known:
        bucket = bucket_of(w, node, value)
        w.rows[row + T.ROW_NEXT] = w.buckets[bucket]
        w.buckets[bucket] = index


@jit
def settle(w, node):
    """Put the new rows of a node into their buckets."""
    tail = w.buffers[node, T.BUFFER_TAIL]
    if is_hashed(w, node):
        for index in range(w.buffers[node, T.BUFFER_SORTED], tail):
            link(w, node, index)
    w.buffers[node, T.BUFFER_SORTED] = tail


@jit
def fill_buckets(w, node):
    """Fill the buckets of a node anew."""
    if not is_hashed(w, node):
        return
    first = w.buffers[node, T.BUFFER_BUCKETS]
    for bucket in range(first, first + w.buffers[node, T.BUFFER_MASK] + 1):
        w.buckets[bucket] = -1
    for index in range(w.buffers[node, T.BUFFER_HEAD], w.buffers[node, T.BUFFER_SORTED]):
        link(w, node, index)


# --- buffers ----------------------------------------------------------------------------------


@jit
def clear(w, node):
    """Empty the buffer of a node."""
    buffer = w.buffers[node]
    if is_hashed(w, node):
        for index in range(buffer[T.BUFFER_SORTED]):
            value, known = hash_of(w, node, row_at(w, node, index))
            if known:
                w.buckets[bucket_of(w, node, value)] = -1
    w.cursor[T.AT_LIVE] -= buffer[T.BUFFER_TAIL]
    buffer[T.BUFFER_HEAD], buffer[T.BUFFER_TAIL], buffer[T.BUFFER_CONSUMED] = 0, 0, 0
    buffer[T.BUFFER_SORTED], buffer[T.BUFFER_SHIFT] = 0, 0


@jit
def advance_head(w, node, oldest):
    """Leave behind the rows that have ended before the window."""
    buffer = w.buffers[node]
    head, tail = buffer[T.BUFFER_HEAD], buffer[T.BUFFER_SORTED]
    while head < tail and w.rows[row_at(w, node, head) + T.ROW_LAST] < oldest:
        head += 1
    buffer[T.BUFFER_HEAD] = head
    buffer[T.BUFFER_CONSUMED] = max(buffer[T.BUFFER_CONSUMED], head)


@jit
def move_row(w, node, source, target):
    """Copy a row of a node to another place of its buffer."""
    width = w.tree[node_at(w, node) + T.NODE_WIDTH]
    old, new = row_at(w, node, source), row_at(w, node, target)
    for k in range(width):
        w.rows[new + k] = w.rows[old + k]


@jit
def compact(w, node, oldest):
    """Drop the rows that no later event can complete; lists of a group keep their numbers."""
    buffer = w.buffers[node]
    tail, consumed, ordered = buffer[T.BUFFER_TAIL], buffer[T.BUFFER_CONSUMED], buffer[T.BUFFER_SORTED]
    group = w.tree[node_at(w, node) + T.NODE_GROUP]
    kept, kept_consumed, kept_ordered = 0, 0, 0
    for index in range(buffer[T.BUFFER_HEAD], tail):
        row = row_at(w, node, index)
        if group:
            alive = kept > 0 or w.rows[row + T.ROW_LAST] >= oldest
        else:
            alive = w.rows[row + T.ROW_FIRST] >= oldest
        if alive:
            if kept == 0 and group:
                buffer[T.BUFFER_SHIFT] += index
            move_row(w, node, index, kept)
            kept += 1
            kept_consumed += index < consumed
            kept_ordered += index < ordered
    if kept == 0 and group:
        buffer[T.BUFFER_SHIFT] += tail
    w.cursor[T.AT_LIVE] -= tail - kept
    buffer[T.BUFFER_HEAD], buffer[T.BUFFER_TAIL] = 0, kept
    buffer[T.BUFFER_CONSUMED], buffer[T.BUFFER_SORTED] = kept_consumed, kept_ordered
    fill_buckets(w, node)


@jit
def has_room(w, node):
    """Make room for one more row; otherwise name the node that needs it."""
    buffer = w.buffers[node]
    if buffer[T.BUFFER_TAIL] < buffer[T.BUFFER_CAPACITY]:
        return True
    compact(w, node, oldest_row(w))
    w.cursor[L.CURSOR_DETAIL] = node
    return 4 * buffer[T.BUFFER_TAIL] <= 3 * buffer[T.BUFFER_CAPACITY]


@jit
def add_row(w, node):
    """Count one more row of a node, for which there is room; return where it begins."""
    buffer = w.buffers[node]
    index = buffer[T.BUFFER_TAIL]
    buffer[T.BUFFER_TAIL] = index + 1
    buffer[T.BUFFER_MADE] += 1
    w.cursor[T.AT_LIVE] += 1
    w.cursor[T.AT_PEAK] = max(w.cursor[T.AT_PEAK], w.cursor[T.AT_LIVE])
    return row_at(w, node, index)


@jit
def first_from(w, node, value, first, last):
    """Return the first of a node's rows whose last event is not in front of ``value``."""
    while first < last:
        middle = (first + last) // 2
        if w.rows[row_at(w, node, middle) + T.ROW_LAST] < value:
            first = middle + 1
        else:
            last = middle
    return first


@jit
def sort_new_rows(w, node):
    """Sort the rows since the last operation by their last event (Shell's sort, in place)."""
    begin, end = w.buffers[node, T.BUFFER_SORTED], w.buffers[node, T.BUFFER_TAIL]
    width = w.tree[node_at(w, node) + T.NODE_WIDTH]
    gap = 1
    while gap < (end - begin) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for index in range(begin + gap, end):
            at = index
            while at - gap >= begin:
                upper, lower = row_at(w, node, at - gap), row_at(w, node, at)
                if w.rows[upper + T.ROW_LAST] <= w.rows[lower + T.ROW_LAST]:
                    break
                for k in range(width):
                    kept = w.rows[upper + k]
                    w.rows[upper + k] = w.rows[lower + k]
                    w.rows[lower + k] = kept
                at -= gap
        gap //= 3


# --- groups -------------------------------------------------------------------------------------


@jit
def list_row(w, leaf, number):
    """Return where the row of a group's list begins."""
    return row_at(w, leaf, number - w.buffers[leaf, T.BUFFER_SHIFT])


@jit
def first_and_last(w, column, leaf):
    """Return the first and the last position that a column of a row stands for."""
    if leaf < 0:
        return column, column
    row = list_row(w, leaf, column)
    return w.rows[row + T.ROW_FIRST], w.rows[row + T.ROW_LAST]


@jit
def length_of(w, column, leaf):
    """Return how many events a column of a row stands for."""
    return 1 if leaf < 0 else w.rows[list_row(w, leaf, column) + T.LIST_LENGTH]


@jit
def write_elements(w, column, leaf, target, end):
    """Write the events a column stands for into ``target``, the last one in front of ``end``."""
    if leaf < 0:
        target[end - 1] = column
        return
    while column >= 0:
        row = list_row(w, leaf, column)
        end -= 1
        target[end] = w.rows[row + T.ROW_LAST]
        column = w.rows[row + T.LIST_PREVIOUS]


@jit
def holds_event(w, column, leaf, position):
    """Say whether a column stands for an event, among others."""
    if leaf < 0:
        return column == position
    while column >= 0:
        row = list_row(w, leaf, column)
        if w.rows[row + T.ROW_LAST] <= position:
            return w.rows[row + T.ROW_LAST] == position
        column = w.rows[row + T.LIST_PREVIOUS]
    return False


@jit
def meet(w, left, left_leaf, right, right_leaf):
    """Say whether two columns share an event."""
    if left_leaf < 0:
        return holds_event(w, right, right_leaf, left)
    while left >= 0:
        w.work[L.WORK_DONE] += 1
        row = list_row(w, left_leaf, left)
        if holds_event(w, right, right_leaf, w.rows[row + T.ROW_LAST]):
            return True
        left = w.rows[row + T.LIST_PREVIOUS]
    return False
