"""Join trees ([T] chapters 3 and 4): leaves hold events, inner nodes join the rows of their children.

A *pass* is what one triggering event sets off: a short program of operations, in which leaves take the
events that wait for them and nodes join what is new on either side with all of the other.  Pushed, every
event starts a pass and all nodes take part ([T] 3.1).  Pulled, only events that can end a match do; the
right side of a node comes first, and without anything new on it the left side is left alone ([T] 4.1,
4.3), so that events may leave the window without ever being joined.  Rows that were made with a passed
down condition ([T] 4.4) are good for one pass only.

Every operation can be resumed: a kernel that runs out of room says which node needs it and goes on.
"""

from __future__ import annotations

import numpy as np

from fyke.engine.kernels import layout as L
from fyke.engine.kernels.conditions.order import follows
from fyke.engine.kernels.conditions.work import begin_work, is_due
from fyke.engine.kernels.jit import entry, jit
from fyke.engine.kernels.output.matches import has_room as has_output_room
from fyke.engine.kernels.output.matches import insert_binding, write_match
from fyke.engine.kernels.tree import layout as T
from fyke.engine.kernels.tree.arena import TreeArena
from fyke.engine.kernels.tree.checks import event_holds, fits, is_wanted, list_holds, may_be_together
from fyke.engine.kernels.tree.rows import (
    add_row,
    advance_head,
    bucket_of,
    clear,
    fill_buckets,
    first_from,
    has_room,
    hash_of,
    length_of,
    list_row,
    node_at,
    oldest_row,
    row_at,
    settle,
    sort_new_rows,
    write_elements,
)

# --- leaves -----------------------------------------------------------------------------------


@jit
def add_event(w, node, at, position):
    """Make a row of one event of a single variable."""
    if not event_holds(w, at, position):
        return L.DONE
    if not has_room(w, node):
        return L.NEED_RUNS
    row = add_row(w, node)
    w.rows[row + T.ROW_FIRST] = position
    w.rows[row + T.ROW_LAST] = position
    w.rows[row + T.ROW_START] = w.events[L.EVENT_START, position]
    w.rows[row + T.ROW_NEXT] = -1
    w.rows[row + T.ROW_COMPLETE] = 1
    w.rows[row + T.ROW_SIZE] = position
    settle(w, node)
    return L.DONE


@jit
def add_list(w, node, at, previous, position):
    """Make a row of a group's list and one more event, if the conditions on the group allow it."""
    row = add_row(w, node)
    number = w.buffers[node, T.BUFFER_TAIL] - 1 + w.buffers[node, T.BUFFER_SHIFT]
    first, start, length = position, w.events[L.EVENT_START, position], 1
    if previous >= 0:
        old = list_row(w, node, previous)
        first = w.rows[old + T.ROW_FIRST]
        start = min(start, w.rows[old + T.ROW_START])
        length = w.rows[old + T.LIST_LENGTH] + 1
    w.rows[row + T.ROW_FIRST] = first
    w.rows[row + T.ROW_LAST] = position
    w.rows[row + T.ROW_START] = start
    w.rows[row + T.ROW_NEXT] = -1
    w.rows[row + T.LIST_SELF] = number
    w.rows[row + T.LIST_PREVIOUS] = previous
    w.rows[row + T.LIST_LENGTH] = length
    w.cursor[T.AT_LONGEST] = max(w.cursor[T.AT_LONGEST], length)
    if not list_holds(w, node, at, number, w.tree[at + T.NODE_TESTS], w.tree[at + T.NODE_TESTS_END]):
        w.buffers[node, T.BUFFER_TAIL] -= 1
        w.buffers[node, T.BUFFER_MADE] -= 1
        w.cursor[T.AT_LIVE] -= 1
        return
    complete = length >= w.tree[at + T.NODE_MINIMUM]
    if complete:
        complete = list_holds(w, node, at, number, w.tree[at + T.NODE_CLOSE], w.tree[at + T.NODE_CLOSE_END])
    w.rows[row + T.ROW_COMPLETE] = 1 if complete else 0
    settle(w, node)


@jit
def extends(w, at, row, position, oldest):
    """Say whether a list of a group may grow by an event, as far as order and window decide."""
    if w.rows[row + T.LIST_LENGTH] >= w.tree[at + T.NODE_MAXIMUM] or w.rows[row + T.ROW_FIRST] < oldest:
        return False
    last = w.rows[row + T.ROW_LAST]
    if last == position:
        return False
    if w.tree[at + T.NODE_ADJACENT] and last + 1 != position:
        return False
    if not w.tree[T.TREE_POINTS] or w.tree[T.TREE_MIXED]:
        start = min(w.rows[row + T.ROW_START], w.events[L.EVENT_START, position])
        if not may_be_together(w, w.rows[row + T.ROW_FIRST], start, position):
            return False
    return follows(w, last, position)


@jit
def add_lists(w, node, at, position, oldest):
    """Make all lists of a group that end with an event; ``AT_INNER`` is the list to be extended next."""
    buffer = w.buffers[node]
    if 2 * (w.cursor[T.AT_LONGEST] + 2) * w.program[L.HEAD_VARIABLES] > len(w.elements):
        return L.NEED_SCRATCH
    if w.cursor[T.AT_OUTER] < 0:
        if not has_room(w, node):
            return L.NEED_RUNS
        w.cursor[T.AT_INNER] = buffer[T.BUFFER_HEAD] + buffer[T.BUFFER_SHIFT]
        w.cursor[T.AT_END] = buffer[T.BUFFER_TAIL] + buffer[T.BUFFER_SHIFT]
        w.cursor[T.AT_OUTER] = 0
        add_list(w, node, at, -1, position)
    while w.cursor[T.AT_INNER] < w.cursor[T.AT_END]:
        if is_due(w):
            return L.PAUSE
        number = max(w.cursor[T.AT_INNER], buffer[T.BUFFER_SHIFT])
        w.cursor[L.CURSOR_STEPS] += 1
        w.work[L.WORK_DONE] += 1
        if number < w.cursor[T.AT_END] and extends(w, at, list_row(w, node, number), position, oldest):
            if not has_room(w, node):
                return L.NEED_RUNS
            if 2 * (w.cursor[T.AT_LONGEST] + 2) * w.program[L.HEAD_VARIABLES] > len(w.elements):
                return L.NEED_SCRATCH
            add_list(w, node, at, number, position)
        w.cursor[T.AT_INNER] = number + 1
    w.cursor[T.AT_OUTER] = -1
    return L.DONE


@jit
def take_events(w, node):
    """Let a leaf take the events that wait for it, up to that of this pass and within its window."""
    at, oldest = node_at(w, node), oldest_row(w)
    role, base = w.tree[at + T.NODE_ROLE], w.tree[at + T.NODE_CANDIDATES]
    buffer = w.buffers[node]
    if w.cursor[T.AT_OUTER] < 0:
        advance_head(w, node, oldest)
    pending = max(buffer[T.BUFFER_PENDING], w.ranks[role, oldest])
    last = w.ranks[role, w.cursor[T.AT_EVENT] + 1]
    while pending < last:
        buffer[T.BUFFER_PENDING] = pending
        position = w.candidates[base + pending]
        if is_wanted(w, at, position):
            if w.tree[at + T.NODE_GROUP]:
                status = add_lists(w, node, at, position, oldest)
            else:
                status = add_event(w, node, at, position)
            if status != L.DONE:
                return status
        pending += 1
    buffer[T.BUFFER_PENDING] = pending
    return L.DONE


# --- joins --------------------------------------------------------------------------------------


@jit
def needs_left(w, node):
    """Say whether a node has anything to do: rows on the right, new ones if all of the left is before it."""
    at = node_at(w, node)
    right = w.tree[at + T.NODE_RIGHT]
    advance_head(w, right, oldest_row(w))
    buffer = w.buffers[right]
    if w.tree[at + T.NODE_LEFT_FIRST]:
        return buffer[T.BUFFER_CONSUMED] < buffer[T.BUFFER_TAIL]
    return buffer[T.BUFFER_HEAD] < buffer[T.BUFFER_TAIL]


@jit
def join_rows(w, node, left, left_row, right, right_row):
    """Make the row of two rows."""
    row = add_row(w, node)
    rows = w.rows
    rows[row + T.ROW_FIRST] = min(rows[left_row + T.ROW_FIRST], rows[right_row + T.ROW_FIRST])
    rows[row + T.ROW_LAST] = max(rows[left_row + T.ROW_LAST], rows[right_row + T.ROW_LAST])
    rows[row + T.ROW_START] = min(rows[left_row + T.ROW_START], rows[right_row + T.ROW_START])
    rows[row + T.ROW_NEXT] = -1
    rows[row + T.ROW_COMPLETE] = 1
    to = row + T.ROW_SIZE
    for side, source in ((left, left_row), (right, right_row)):
        at = node_at(w, side)
        for k in range(w.tree[at + T.NODE_VARS_END] - w.tree[at + T.NODE_VARS]):
            rows[to] = rows[source + T.ROW_SIZE + k]
            to += 1


@jit
def reach_of(w, at, other, row, forward):
    """Return which rows of the other side can join a row, by order and window."""
    buffer = w.buffers[other]
    low, high = buffer[T.BUFFER_HEAD], buffer[T.BUFFER_TAIL]
    if not forward:
        return low, buffer[T.BUFFER_CONSUMED]
    first = w.rows[row + T.ROW_FIRST]
    if w.tree[at + T.NODE_SEQUENCE]:
        high = first_from(w, other, w.reach[L.REACH_BEFORE, first], low, high)
    if w.tree[at + T.NODE_ADJACENT]:
        low = first_from(w, other, first - 1, low, high)
        high = first_from(w, other, first, low, high)
    return low, high


@jit
def begin_row(w, at, own, other, row, low, high, hashed):
    """Return the first row of the other side to try: the last one of a bucket, or the first of a range."""
    if not hashed:
        return low
    value, known = hash_of(w, own, row)
    index = w.buckets[bucket_of(w, other, value)] if known else -1
    first = w.tree[at + T.NODE_COMPARISONS]
    for k in range(first, first + w.tree[at + T.NODE_HASHED]):
        # Pairs that the hash leaves out count as decided.
        condition = w.tree[w.tree[T.TREE_COMPARISONS] + k * T.COMPARISON_SIZE + T.COMPARISON_CONDITION]
        w.observed[condition, 0] += high - low
    while index >= high:
        index = w.rows[row_at(w, other, index) + T.ROW_NEXT]
    return index


@jit
def join_one(w, node, index, forward):
    """Join one row of a side with all that can be of the other; ``AT_INNER`` is the next to be tried."""
    at, oldest = node_at(w, node), oldest_row(w)
    left, right = w.tree[at + T.NODE_LEFT], w.tree[at + T.NODE_RIGHT]
    own, other = (right, left) if forward else (left, right)
    row = row_at(w, own, index)
    w.work[L.WORK_DONE] += 1
    if w.rows[row + T.ROW_FIRST] < oldest or not w.rows[row + T.ROW_COMPLETE]:
        return L.DONE
    low, high = reach_of(w, at, other, row, forward)
    hashed = w.tree[at + T.NODE_HASHED] > 0
    if w.cursor[T.AT_INNER] == -2:
        w.cursor[T.AT_INNER] = begin_row(w, at, own, other, row, low, high, hashed)
    inner, tried = w.cursor[T.AT_INNER], np.int64(0)
    status = L.PAUSE if is_due(w) else L.DONE
    while status == L.DONE and ((inner >= low) if hashed else (inner < high)):
        partner = row_at(w, other, inner)
        left_row, right_row = (partner, row) if forward else (row, partner)
        if not has_room(w, node):
            status = L.NEED_RUNS
            break
        tried += 1
        if fits(w, at, left, left_row, right, right_row, oldest):
            join_rows(w, node, left, left_row, right, right_row)
        inner = w.rows[partner + T.ROW_NEXT] if hashed else inner + 1
    w.cursor[T.AT_INNER] = inner
    w.cursor[L.CURSOR_STEPS] += tried
    w.work[L.WORK_DONE] += tried
    return status


@jit
def join(w, node):
    """Join what is new on the right with all of the left, and what is new on the left with the old right."""
    at, oldest = node_at(w, node), oldest_row(w)
    left, right = w.tree[at + T.NODE_LEFT], w.tree[at + T.NODE_RIGHT]
    if w.cursor[T.AT_OUTER] < 0:
        advance_head(w, left, oldest)
        advance_head(w, right, oldest)
        if not w.tree[at + T.NODE_TRANSIENT]:
            advance_head(w, node, oldest)
        w.cursor[T.AT_PHASE], w.cursor[T.AT_INNER] = 0, -2
        w.cursor[T.AT_OUTER] = w.buffers[right, T.BUFFER_CONSUMED]
    while True:
        forward = w.cursor[T.AT_PHASE] == 0
        own = right if forward else left
        if w.cursor[T.AT_OUTER] >= w.buffers[own, T.BUFFER_TAIL]:
            if not forward or w.tree[at + T.NODE_LEFT_FIRST]:
                break
            w.cursor[T.AT_PHASE], w.cursor[T.AT_INNER] = 1, -2
            w.cursor[T.AT_OUTER] = w.buffers[left, T.BUFFER_CONSUMED]
            continue
        status = join_one(w, node, w.cursor[T.AT_OUTER], forward)
        if status != L.DONE:
            return status
        w.cursor[T.AT_OUTER] += 1
        w.cursor[T.AT_INNER] = -2
    w.buffers[left, T.BUFFER_CONSUMED] = w.buffers[left, T.BUFFER_TAIL]
    w.buffers[right, T.BUFFER_CONSUMED] = w.buffers[right, T.BUFFER_TAIL]
    w.cursor[T.AT_OUTER] = -1
    if not w.tree[at + T.NODE_LEFT_FIRST]:
        sort_new_rows(w, node)
    settle(w, node)
    return L.DONE


# --- matches ------------------------------------------------------------------------------------


@jit
def write_row(w, node, row):
    """Write the bindings of a row as a match; return DONE, or why there is no room."""
    at = node_at(w, node)
    count = 0
    w.work[L.WORK_DONE] += 1
    first, last = w.tree[at + T.NODE_VARS], w.tree[at + T.NODE_VARS_END]
    half = len(w.prefix) // 2
    for k in range(first, last):
        spec = w.tree[T.TREE_VARIABLES] + k * T.VARIABLE_SIZE
        leaf, column = w.tree[spec + T.VARIABLE_LEAF], w.rows[row + T.ROW_SIZE + k - first]
        length = length_of(w, column, leaf)
        if count + length > half:
            return L.NEED_SCRATCH
        w.work[L.WORK_DONE] += length
        write_elements(w, column, leaf, w.prefix, count + length)
        for place in range(count, count + length):
            insert_binding(w.prefix, place, w.prefix[place], w.tree[spec + T.VARIABLE_NUMBER])
        count += length
    if w.tree[T.TREE_STRICT] and w.rows[row + T.ROW_LAST] - w.rows[row + T.ROW_FIRST] + 1 != count:
        return L.DONE
    if not has_output_room(w, count):
        return L.NEED_OUTPUT
    write_match(w, w.prefix, count)
    return L.DONE


@jit
def write_matches(w, root):
    """Write the new rows of the root that end with a new event."""
    buffer = w.buffers[root]
    index, oldest = buffer[T.BUFFER_CONSUMED], oldest_row(w)
    while index < buffer[T.BUFFER_TAIL]:
        row = row_at(w, root, index)
        fresh = w.rows[row + T.ROW_LAST] >= w.cursor[T.AT_FRESH]
        if fresh and w.rows[row + T.ROW_COMPLETE] and w.rows[row + T.ROW_FIRST] >= oldest:
            status = write_row(w, root, row)
            if status != L.DONE:
                return status
        index += 1
        buffer[T.BUFFER_CONSUMED] = index
    if w.tree[node_at(w, root) + T.NODE_LEFT] >= 0:
        clear(w, root)
    return L.DONE


# --- passes -------------------------------------------------------------------------------------


@jit
def make_anew(w, node):
    """Forget the rows of a node that were good for one pass, and let it see all rows of its children."""
    at = node_at(w, node)
    clear(w, node)
    left = w.tree[at + T.NODE_LEFT]
    if left < 0:
        w.buffers[node, T.BUFFER_PENDING] = w.ranks[w.tree[at + T.NODE_ROLE], oldest_row(w)]
        return
    for child in (left, w.tree[at + T.NODE_RIGHT]):
        w.buffers[child, T.BUFFER_CONSUMED] = w.buffers[child, T.BUFFER_HEAD]


@jit
def run_pass(w):
    """Run the operations of a pass from where the cursor says; return why it stopped."""
    first, last = w.tree[T.TREE_OPS], w.tree[T.TREE_OPS_END]
    while first + w.cursor[T.AT_OP] * T.OP_SIZE < last:
        op = first + w.cursor[T.AT_OP] * T.OP_SIZE
        code, node = w.tree[op + T.OP_CODE], w.tree[op + T.OP_NODE]
        status = L.DONE
        if code == T.LEAF:
            status = take_events(w, node)
        elif code == T.JOIN:
            status = join(w, node)
        elif code == T.EMIT:
            status = write_matches(w, node)
        elif code == T.CLEAR:
            make_anew(w, node)
        elif not needs_left(w, node):
            w.cursor[T.AT_OP] = w.tree[op + T.OP_JUMP]
            continue
        if status != L.DONE:
            return status
        w.cursor[T.AT_OP] += 1
    w.cursor[T.AT_OP] = 0
    return L.DONE


@jit
def enter_segment(w, segment):
    """Empty all buffers; leaves begin with what is in one window with the first new event."""
    begin_work(w)
    fresh = w.segments[segment, L.SEGMENT_NEW]
    w.cursor[L.CURSOR_TRIED] += w.cursor[L.CURSOR_STEPS]
    w.cursor[L.CURSOR_STEPS] = 0
    w.cursor[T.AT_FRESH] = w.cursor[T.AT_EVENT] = fresh
    for node in range(w.tree[T.TREE_NODES]):
        clear(w, node)
        at = node_at(w, node)
        if w.tree[at + T.NODE_LEFT] < 0:
            begin = fresh if node == w.tree[T.TREE_LAST] else w.reach[L.REACH_FIRST, fresh]
            w.buffers[node, T.BUFFER_PENDING] = w.ranks[w.tree[at + T.NODE_ROLE], begin]


@jit
def search(w):
    """Read events from where the cursor says; return why it stopped."""
    for node in range(w.tree[T.TREE_NODES]):
        if w.buffers[node, T.BUFFER_STALE]:
            w.buffers[node, T.BUFFER_STALE] = 0
            fill_buckets(w, node)
    triggers, chunk = w.tree[T.TREE_TRIGGERS], w.tree[T.TREE_CHUNK]
    segment = w.cursor[L.CURSOR_SEGMENT]
    while True:
        if segment < 0 or w.cursor[T.AT_EVENT] >= w.segments[segment, L.SEGMENT_END]:
            segment += 1
            w.cursor[L.CURSOR_SEGMENT] = segment
            if segment >= len(w.segments):
                w.cursor[L.CURSOR_TRIED] += w.cursor[L.CURSOR_STEPS]
                return L.DONE
            if w.segments[segment, L.SEGMENT_NEW] < w.segments[segment, L.SEGMENT_END]:
                enter_segment(w, segment)
            else:
                w.cursor[T.AT_EVENT] = w.segments[segment, L.SEGMENT_END]
            continue
        if w.events[L.EVENT_ROLES, w.cursor[T.AT_EVENT]] & triggers:
            status = run_pass(w)
            if status != L.DONE:
                return status
        w.cursor[T.AT_EVENT] += 1
        if chunk and w.cursor[T.AT_EVENT] - w.cursor[T.AT_PAUSED] >= chunk:
            w.cursor[T.AT_PAUSED] = w.cursor[T.AT_EVENT]
            return T.LOOK


@entry
def run_tree(arena: TreeArena):
    """Read events; see :func:`search`."""
    return search(arena)
