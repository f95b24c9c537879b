"""Numbers shared by the compiler (:mod:`fyke.engine.conditions.program`) and the kernels: codes and offsets.

A program is one int64 array.  Its head holds settings and the offsets of its tables; a condition
is a stretch of four-word instructions.  Nothing here is generated per query.
"""

from __future__ import annotations

# --- head of a program ------------------------------------------------------------------
HEAD_VARIABLES = 0
HEAD_STRATEGY = 1
HEAD_WINDOW_KIND = 2  # one of the WINDOW_ codes
HEAD_WINDOW = 3
HEAD_NEED_TABLE = 4
HEAD_NEEDS = 5
HEAD_VARIABLE_TABLE = 6
HEAD_STATE_TABLE = 7
HEAD_TRANSITION_TABLE = 8
HEAD_CHECK_TABLE = 9
HEAD_CONDITION_TABLE = 10
HEAD_EACH_TABLE = 11
HEAD_CODE = 12
HEAD_ACCUMULATOR_TABLE = 13
HEAD_ABSENCE_TABLE = 14
HEAD_RUN_INTEGERS = 15  # width of a run
HEAD_RUN_FLOATS = 16
HEAD_STATES = 18
HEAD_ABSENCES = 19
HEAD_ALL_VARIABLES = 20  # those of absences included
HEAD_MERGE_TABLE = 21
HEAD_MERGES = 22  # 1: equivalent runs are merged
HEAD_POINTS = 23  # 1: every event starts when it ends
HEAD_CANDIDATES = 24  # 1: starts are tested for candidate windows
HEAD_PRUNES = 25  # 1: a match ends all runs of its partition (non_overlap)
HEAD_SIZE = 26

WINDOW_NONE, WINDOW_TIME, WINDOW_EVENTS = 0, 1, 2

ANY, NEXT, GREEDY, PARTITION, STRICT, GREEDY_PARTITION, GREEDY_STRICT = 0, 1, 2, 3, 4, 5, 6

# --- variable table ---------------------------------------------------------------------
VAR_MINIMUM = 0
VAR_MAXIMUM = 1
VAR_GROUP = 2
VAR_ROLE = 3  # bit mask with the one bit of its role
VAR_BEFORE = 4  # bit mask of the positive variables ordered before it
VAR_ACCUMULATORS = 5  # first row in the accumulator table
VAR_ACCUMULATORS_END = 6
VAR_AFTER = 7  # bit mask of the positive variables ordered after it (used for absences)
VAR_START = 8  # bit mask of the role of its first event
VAR_SIZE = 9
UNBOUNDED = 2**62

# --- need table: how many events of any of some roles a match binds at least --------------------
NEED_ROLES = 0
NEED_COUNT = 1
NEED_SIZE = 2

# --- state table: a state is a downward-closed set of variables -----------------------------
STATE_BOUND = 0  # bit mask
STATE_COMPLETE = 1  # every variable is bound
STATE_TRANSITIONS = 2
STATE_TRANSITIONS_END = 3
STATE_FINAL_CHECKS = 4  # conditions on groups that are still open
STATE_FINAL_CHECKS_END = 5
STATE_EXPANDED = 6
STATE_ROLES = 7  # roles that can move a run out of this state or extend it
STATE_OPEN = 8  # some group can still be extended
STATE_MERGE = 9  # what runs here must agree in; -1: they are never merged
STATE_MERGE_END = 10
STATE_SIZE = 11

# --- transition table ---------------------------------------------------------------------
MOVE_VARIABLE = 0
MOVE_EXTENDS = 1
MOVE_CLOSES = 2  # bit mask of the open groups that this start closes
MOVE_TARGET = 3
MOVE_CHECKS = 4
MOVE_CHECKS_END = 5
MOVE_FULL_TARGET = 6  # target if the group then holds its maximum
MOVE_FULL_CHECKS = 7
MOVE_FULL_CHECKS_END = 8
MOVE_ROLE = 9  # bit mask of the role an event must have
MOVE_SIZE = 10

# --- check table: a condition, and how to evaluate it ----------------------------------------
CHECK_CONDITION = 0
CHECK_EVERY = 1  # 1: for every combination of elements; 0: for the new element alone
CHECK_STAGE = 1  # of an absence: 2v when an element of v is added, 2v + 1 when v is closed
CHECK_SIZE = 2

# --- condition table ------------------------------------------------------------------------
CONDITION_CODE = 0
CONDITION_CODE_END = 1
CONDITION_EACH = 2
CONDITION_EACH_END = 3
CONDITION_SIZE = 4

EACH_VARIABLE = 0
EACH_LAGGED = 1
EACH_SIZE = 2

# --- accumulator table ------------------------------------------------------------------------
ACC_KIND = 0
ACC_COLUMN = 1
ACC_TYPED = 2  # 0 integer column, 1 float column
ACC_SLOT = 3  # first of its integers in a run
ACC_FLOATS = 4  # first of its floats in a run
ACC_OFFSET = 5  # of an element by number: how far from the first, or from the last
ACC_SIZE = 6
ACC_COUNT, ACC_SUM_I, ACC_SUM_F, ACC_MOMENTS, ACC_MIN, ACC_MAX = 0, 1, 2, 3, 4, 5
ACC_ON = 6  # the position of an element by its number; below -1: minus one, minus the elements to come
ACC_BACK = 7  # the positions of the last elements, the last one first

# --- absence table (one row per absence, nested ones after their parent) ---------------------------
ABSENCE_PARENT = 0  # -1 for an absence beside the positive part
ABSENCE_VARIABLES = 1  # first variable number
ABSENCE_VARIABLES_END = 2
ABSENCE_CHECKS = 3
ABSENCE_CHECKS_END = 4
ABSENCE_SIZE = 5

# --- a run: one row of integers, one row of floats -------------------------------------------
RUN_STATE = 0
RUN_NODE = 1
RUN_START = 2  # smallest start time of its events
RUN_FIRST = 3  # position of its first event
RUN_MARK = 4  # breadth first: hash of what is still needed; backtracking: the next event to read
RUN_PARENT = 5  # robust search: twice the place of the run it came from, plus one once a match is found
RUN_VARIABLES = 6  # then RUN_VARIABLE_SIZE integers a variable, then the integer accumulators
RUN_COUNT = 0
RUN_FIRST_OF = 1
RUN_LAST_OF = 2
RUN_BARRIER = 3  # position of the event of the variable that ends last
RUN_VARIABLE_SIZE = 4

# --- a node of the buffer: a binding, or the union of two histories -------------------------------
NODE_EVENT = 0  # UNION: the node has no event, but two predecessors
NODE_VARIABLE = 1  # of a union: its second predecessor
NODE_PREVIOUS = 2
NODE_DEPTH = 3  # bindings before it, at most
NODE_AGE = 4  # of its youngest history, see age_of
NODE_UNIONS = 5  # unions on a way from it, at most
NODE_SIZE = 6
UNION = -1

# --- what runs must agree in to be merged: a place in the run, and a column or a bound -------------
MERGE_KIND = 0
MERGE_PLACE = 1
MERGE_COLUMN = 2
MERGE_SIZE = 3
MERGE_VALUE_I, MERGE_VALUE_F = 0, 1  # the value of a column at the position in that place
MERGE_INTEGER, MERGE_FLOAT, MERGE_CAPPED = 2, 3, 4
MERGE_ORDER = 5  # the position in that place is before the same events

# --- element slots a condition can load from, four a variable -----------------------------------
SLOT_CURRENT, SLOT_FIRST, SLOT_LAST, SLOT_PREVIOUS = 0, 1, 2, 3
SLOTS = 4

# --- rows of the event array ----------------------------------------------------------------
EVENT_START = 0
EVENT_END = 1
EVENT_LOW = 2  # x is before y exactly if high of x < low of y
EVENT_HIGH = 3
EVENT_ROLES = 4
EVENT_INDEX = 5  # number of the event within its partition, for WITHIN n EVENTS
EVENT_SEGMENT = 6  # number of its partition
EVENT_SIZE = 7

# --- a segment: the rows of one partition -----------------------------------------------------------
SEGMENT_BEGIN = 0  # its first row
SEGMENT_NEW = 1  # its first new event
SEGMENT_END = 2  # where its new events end
SEGMENT_RUNS, SEGMENT_RUNS_END = 3, 4  # the stretch of its saved runs

# --- what a search may use ------------------------------------------------------------------------
ALLOWED_RUNS, ALLOWED_MATCHES = 0, 1

# --- work: what all kernels of a call have done together, and when they stop -----------------------
WORK_DONE = 0  # steps, each some ten nanoseconds
WORK_PAUSE = 1  # a kernel that has done more asks the host before it goes on
WORK_BEGIN = 2  # what had been done when the partition began
WORK_MOST = 3  # what a partition may cost
WORK_CUT = 4  # 1: something was given up because its partition had cost that
WORK_SIZE = 5

# --- reach: how far rows reach by order and by window -------------------------------------------
REACH_BEFORE = 0  # every row before it is in front of this place
REACH_AFTER = 1  # every row after it is at this place or behind
REACH_FIRST = 2  # the first row that fits into a window with it
REACH_END = 3  # behind the last row that fits into a window with it
REACH_SIZE = 4

# --- keys: attributes as integers that compare as the attributes do --------------------------------
NULL_KEY = -(2**63)

# --- instructions ----------------------------------------------------------------------------
LOAD_I, LOAD_F, CONST_I, CONST_F, NULL = 0, 1, 2, 3, 4
ACC_LOAD_I, ACC_LOAD_F, ACC_AVERAGE, ACC_DEVIATION, ACC_ELEMENT_I, ACC_ELEMENT_F, LENGTH = (
    5,
    6,
    7,
    8,
    9,
    10,
    11,
)
TO_FLOAT, SCALE_UP, SCALE_TO_FLOAT = 12, 13, 14
ADD_I, SUB_I, MUL_I, MOD_I, NEG_I = 15, 16, 17, 18, 19
ADD_F, SUB_F, MUL_F, DIV_F, MOD_F, NEG_F = 20, 21, 22, 23, 24, 25
EQ_I, NE_I, LT_I, LE_I, GT_I, GE_I = 26, 27, 28, 29, 30, 31
EQ_F, NE_F, LT_F, LE_F, GT_F, GE_F = 32, 33, 34, 35, 36, 37
AND, OR, NOT, IS_NULL = 38, 39, 40, 41
ABS_I, ABS_F, SIGN_F, SQRT, EXP, LN, LOG10, LOG2, POW, FLOOR, CEIL = (
    42,
    43,
    44,
    45,
    46,
    47,
    48,
    49,
    50,
    51,
    52,
)
LEAST_I, LEAST_F, GREATEST_I, GREATEST_F = 53, 54, 55, 56
COALESCE_I, COALESCE_F, NULLIF_I, NULLIF_F, IF_I, IF_F = 57, 58, 59, 60, 61, 62
CORRELATION, CALL = 63, 64
KNOWN = 1  # third operand of a load: an accumulator that is loaded beside it has the same value
COMPARE_LOADS_I, COMPARE_LOADS_F = 65, 66  # two loads and a comparison in one
INSTRUCTION_SIZE = 6

FALSE, TRUE, UNKNOWN = 0, 1, 2

# --- what a kernel call ends with ---------------------------------------------------------------
DONE = 0
NEED_STATE = 1
NEED_RUNS = 2
NEED_NODES = 3
NEED_OUTPUT = 4
NEED_SAVED = 5
LIMIT_RUNS = 6

PAUSE = 8  # the host looks at clock and limits, and calls again
NEED_SCRATCH = 9
LIMIT_MATCHES = 10

# --- cursor: where a kernel call goes on, and what it has counted; this part is the same for all engines ---
CURSOR_SEGMENT = 0
CURSOR_STEPS = 1  # of the partition that is being read
CURSOR_TRIED = 2  # steps of all partitions that have been read
CURSOR_EVALUATIONS = 3
CURSOR_MATCHES = 4
CURSOR_BINDINGS = 5  # length of the output
CURSOR_DETAIL = 6  # what a call that asks for more needs: a state, a node, a size
CURSOR_OWN = 7  # what follows is each engine's own

# --- cursor of the automaton ---------------------------------------------------------------------
CURSOR_EVENT = CURSOR_OWN + 0  # -1: the segment is not entered yet
CURSOR_RUN = CURSOR_OWN + 1
CURSOR_LIVE = CURSOR_OWN + 2  # runs alive
CURSOR_BEFORE = CURSOR_OWN + 3  # runs alive before this event (those it has created come after)
CURSOR_NODES = CURSOR_OWN + 4
CURSOR_SAVED = CURSOR_OWN + 5  # runs saved for the next call
CURSOR_LOADED = CURSOR_OWN + 6  # runs that came with the state
CURSOR_CREATED = CURSOR_OWN + 7
CURSOR_PEAK = CURSOR_OWN + 8
CURSOR_HEADS = CURSOR_OWN + 9  # matches noted
CURSOR_HEAD = CURSOR_OWN + 10  # of them, the next to be written
CURSOR_NODE = CURSOR_OWN + 11  # where its reading goes on; FRESH: at its head
CURSOR_PATH = CURSOR_OWN + 12  # bindings of the path so far
CURSOR_BRANCHES = CURSOR_OWN + 13  # histories put off
CURSOR_COUNTED = CURSOR_OWN + 14  # matches of the partition
CURSOR_COUNTED_OF = CURSOR_OWN + 15  # the partition
CURSOR_MERGED = CURSOR_OWN + 16
CURSOR_COMPARED = CURSOR_OWN + 17  # runs offered for merging since it was last worth it
CURSOR_FRUITFUL = CURSOR_OWN + 18  # those of them that were merged
CURSOR_RESTING = CURSOR_OWN + 19  # new runs to come before merging is tried again
CURSOR_SKIPPED = CURSOR_OWN + 20  # starts that no candidate window allows
CURSOR_REREAD = CURSOR_OWN + 21
CURSOR_FURTHEST = CURSOR_OWN + 22  # backtracking: the first event not read yet
CURSOR_NODES_PEAK = CURSOR_OWN + 23
CURSOR_LAST_END = CURSOR_OWN + 24  # non_overlap: end of the last match of the partition
CURSOR_MATCHED = CURSOR_OWN + 25  # non_overlap: 1 if a match has been found at this moment
CURSOR_NOTED = CURSOR_OWN + 26  # non_overlap: 1 if a match has been noted at this event
CURSOR_SIZE = CURSOR_OWN + 27
FRESH = -2
