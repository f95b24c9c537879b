"""Numbers shared by the host of the join tree (:mod:`fyke.engine.tree.tables`) and its kernels."""

from __future__ import annotations

from fyke.engine.kernels.layout import CURSOR_OWN

# --- head of a tree: one int64 array, tables follow ------------------------------------------
TREE_NODES = 0
TREE_TABLE = 1
TREE_OPS, TREE_OPS_END = 2, 3
TREE_TRIGGERS = 4  # roles whose events start a pass
TREE_ROOT = 5
TREE_POINTS = 6  # 1: every event starts when it ends
TREE_STRICT = 7  # of strict contiguity: the most events a match can have, otherwise 0
TREE_CHUNK = 8  # rows after which the host is asked whether the plan is still good, 0: never
TREE_VARIABLES = 9  # where the lists begin
TREE_PAIRS = 10
TREE_APART = 11
TREE_COMPARISONS = 12
TREE_TESTS = 13
TREE_NEEDS = 14
TREE_KEYS = 15
TREE_LAST = 16  # the leaf of the only variable that can end a match, -1 if there are several
TREE_MIXED = 17  # 1: events of several partitions are read together
TREE_SIZE = 18

# --- a node --------------------------------------------------------------------------------------
NODE_LEFT, NODE_RIGHT = 0, 1  # -1 for a leaf
NODE_WIDTH = 2  # of its rows
NODE_VARS, NODE_VARS_END = 3, 4
NODE_LEFT_FIRST = 5  # 1: every variable on the left is before some variable on the right
NODE_SEQUENCE = 6  # 1: everything on the left is before everything on the right
NODE_ADJACENT = 7  # 1: the right begins at the row behind the last one of the left
NODE_PAIRS, NODE_PAIRS_END = 8, 9
NODE_APART, NODE_APART_END = 10, 11
NODE_COMPARISONS, NODE_COMPARISONS_END = 12, 13
NODE_TESTS, NODE_TESTS_END = 14, 15
NODE_HASHED = 16  # how many of the comparisons, the first ones, are found by hash
NODE_KEY, NODE_KEY_END = 17, 18  # what rows are hashed by for the parent
NODE_TRANSIENT = 19  # 1: it is made anew for every trigger, from what was passed down
NODE_VARIABLE = 20  # of a leaf
NODE_GROUP = 21
NODE_MINIMUM = 22
NODE_MAXIMUM = 23
NODE_ROLE = 24  # row of the ranks
NODE_CANDIDATES = 25
NODE_NEEDS, NODE_NEEDS_END = 26, 27  # what must be around an event of the leaf
NODE_CLOSE, NODE_CLOSE_END = 28, 29  # conditions on the whole group
NODE_PASSED, NODE_PASSED_END = 30, 31  # comparisons with the triggering event, passed down to a leaf
NODE_PASSED_TESTS, NODE_PASSED_TESTS_END = 32, 33
NODE_SIZE = 34

VARIABLE_NUMBER, VARIABLE_LEAF, VARIABLE_SIZE = 0, 1, 2  # leaf of a group, -1 of a single variable
PAIR_LEFT, PAIR_RIGHT, PAIR_FORWARD, PAIR_SIZE = 0, 1, 2, 3  # places in the lists of variables
COMPARISON_LEFT, COMPARISON_LEFT_KEYS = 0, 1  # a column of the left row, and where its keys begin
COMPARISON_RIGHT, COMPARISON_RIGHT_KEYS = 2, 3
COMPARISON_OPERATOR, COMPARISON_CONDITION, COMPARISON_SIZE = 4, 5, 6
TEST_CONDITION, TEST_EVERY, TEST_SIZE = 0, 1, 2
NEED_ROLE, NEED_COUNT, NEED_AFTER, NEED_SIZE = 0, 1, 2, 3
KEY_COLUMN, KEY_KEYS, KEY_SIZE = 0, 1, 2

# --- an operation of a pass ------------------------------------------------------------------------
OP_CODE, OP_NODE, OP_JUMP, OP_SIZE = 0, 1, 2, 3
LEAF, CHECK, JOIN, EMIT, CLEAR = 0, 1, 2, 3, 4

# --- the buffer of a node ----------------------------------------------------------------------------
BUFFER_BEGIN = 0  # where its rows begin
BUFFER_CAPACITY = 1
BUFFER_HEAD, BUFFER_TAIL = 2, 3
BUFFER_SHIFT = 4  # of a group: number of its first row
BUFFER_CONSUMED = 5  # rows the parent has seen
BUFFER_BUCKETS = 6
BUFFER_MASK = 7
BUFFER_PENDING = 8  # of a leaf: the next candidate
BUFFER_STALE = 9  # 1: the buckets must be filled anew
BUFFER_MADE = 10  # rows made so far
BUFFER_SORTED = 11  # rows in their final order, known to the buckets
BUFFER_SIZE = 12

# --- a row: a partial match -----------------------------------------------------------------------
ROW_FIRST, ROW_LAST = 0, 1  # positions
ROW_START = 2  # smallest start time
ROW_NEXT = 3  # the row before it in its bucket, -1: none
ROW_COMPLETE = 4  # 0: a group that may be extended, but not used yet
ROW_SIZE = 5  # then a column a variable: its position, or the number of its group's row
LIST_SELF, LIST_PREVIOUS, LIST_LENGTH, LIST_SIZE = 5, 6, 7, 8

# --- cursor, behind what all engines have -----------------------------------------------------------
AT_EVENT = CURSOR_OWN + 0
AT_OP = CURSOR_OWN + 1
AT_OUTER = CURSOR_OWN + 2  # -1: the operation has not begun
AT_INNER = CURSOR_OWN + 3
AT_PHASE = CURSOR_OWN + 4
AT_END = CURSOR_OWN + 5
AT_LIVE = CURSOR_OWN + 6
AT_PEAK = CURSOR_OWN + 7
AT_FRESH = CURSOR_OWN + 8
AT_PAUSED = CURSOR_OWN + 9
AT_LONGEST = CURSOR_OWN + 10
AT_SIZE = CURSOR_OWN + 11

LOOK = 20  # a chunk has been read: the host looks at the statistics
