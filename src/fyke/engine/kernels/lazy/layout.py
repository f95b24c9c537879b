"""Numbers shared by the compiler of lazy plans (:mod:`fyke.engine.lazy.steps`) and their kernel.

A lazy plan is one int64 array: a head with the offsets of its tables, then the tables.  A *step* binds
one variable; steps form a tree, whose paths are the chains of the alternatives ([L] 5), or stand side
by side in alternatives whose order is chosen while searching ([L] 7).
"""

from __future__ import annotations

# --- head of a plan ---------------------------------------
PLAN_STEPS = 0  # offset of the step table
PLAN_LIST = 1  # variables in order before, after, or possibly the same
PLAN_FAST = 2
PLAN_CHECKS = 3
PLAN_ABSENCES = 4
PLAN_CHILDREN = 5
PLAN_ACCEPT = 6
PLAN_ALTERNATIVES = 7
PLAN_ROOTS = 8  # number of roots: the first rows of the child table, or the alternatives
PLAN_POINTS = 9  # no event lasts: positions decide order and window
PLAN_TREE = 10  # the next variable is chosen while searching
PLAN_COUNT_ONLY = 11
PLAN_ACCUMULATES = 12  # some aggregate of a group is kept up to date
PLAN_SLICE = 13  # windows in one slice of the stream, 0: no slices
PLAN_SUBSETS = 14  # groups are counted, not enumerated
PLAN_TALLIES = 15  # aggregates over matches that are not just their number
PLAN_TALLY_COUNT = 16
PLAN_DISTINCT = 17  # no event lasts, and no two are simultaneous: positions are the order itself
PLAN_SEVERAL = 18
PLAN_SIZE = 19

# --- step table ---------------------------------------
STEP_VARIABLE = 0
STEP_ROLE = 1  # row of the rank table
STEP_CANDIDATES = 2  # where its candidates begin
STEP_GROUP = 3
STEP_MINIMUM = 4
STEP_MAXIMUM = 5
STEP_BEFORE, STEP_BEFORE_END = 6, 7
STEP_AFTER, STEP_AFTER_END = 8, 9
STEP_SAME, STEP_SAME_END = 10, 11  # variables that could be bound to the same event
STEP_FAST, STEP_FAST_END = 12, 13
STEP_CHECKS, STEP_CHECKS_END = 14, 15
STEP_CLOSE, STEP_CLOSE_END = 16, 17
STEP_ABSENCES, STEP_ABSENCES_END = 18, 19
STEP_CHILDREN, STEP_CHILDREN_END = 20, 21
STEP_ACCEPT, STEP_ACCEPT_END = 22, 23
STEP_BIT = 24  # of a tree: the bit of the variable within its alternative
STEP_ALTERNATIVE = 25  # of a tree
STEP_PLAIN = 26  # comparisons decide alone: nothing else is to be checked
STEP_LEAF = 27  # plain, single, accepted by one alternative, without children
STEP_COUPLED = 28  # of a group: a condition couples neighbours
STEP_ANCHOR = 29  # of the first group that is counted: no single variable bounds its window
STEP_NEXT_GROUP = 30  # when groups are counted: the step of the next one, or -1
STEP_FIRST_GROUP = 31  # the step of the first one
STEP_SEVERAL, STEP_SEVERAL_END = 32, 33  # absences of several events
STEP_SIZE = 34

# --- a comparison of the new event with a bound one, or with the element before ----------
FAST_NEW = 0  # where the keys of the new variable's candidates begin
FAST_OTHER = 1  # variable
FAST_OLD = 2  # where its keys begin
FAST_OPERATOR = 3  # as in decide(): new operator old
FAST_LAGGED = 4  # the other is the element before
FAST_INDEX = 5  # of an equality: its row in the index head, or -1
FAST_SIZE = 6

# --- an index: candidates of a variable by the code of a key ---------------------------------------
INDEX_CODES = 0  # where the codes of the other variable's candidates begin, -1 for a value not there
INDEX_STARTS = 1  # where the first place of each code begins
INDEX_PLACES = 2  # where the candidates, sorted by code, begin
INDEX_SIZE = 3

# --- other conditions ---------------------------------------
TEST_CONDITION = 0
TEST_MODE = 1
TEST_NEEDS = 2  # bits of the variables of its alternative that must be bound, in a tree
TEST_SIZE = 3
MODE_EVERY = 1  # for every combination of elements
MODE_LAGGED = 2  # from the second element on
MODE_FIRST = 4  # decided by the first element

# --- absences that are checked as soon as their neighbours are bound ---------------------------------------
LACK_VARIABLE = 0
LACK_ROLE = 1
LACK_CANDIDATES = 2
LACK_BEFORE, LACK_BEFORE_END = 3, 4
LACK_AFTER, LACK_AFTER_END = 5, 6
LACK_SAME, LACK_SAME_END = 7, 8
LACK_FAST, LACK_FAST_END = 9, 10
LACK_CHECKS, LACK_CHECKS_END = 11, 12
LACK_NEEDS = 13  # bits, in a tree
LACK_SIZE = 14

# --- absences of several events, which a search decides beside the bound ones ----------
SEVERAL_WORLD = 0  # the world of the alternative's own program
SEVERAL_ABSENCE = 1  # row of its absence table
SEVERAL_NUMBERS = 2  # where the list of its numbers for all variables begins
SEVERAL_NEEDS = 3  # bits, in a tree
SEVERAL_SIZE = 4

# --- alternatives of a tree ---------------------------------------
CHOICE_STEPS, CHOICE_STEPS_END = 0, 1
CHOICE_ALL = 2  # bits of all variables
CHOICE_SINGLES = 3  # bits of those that are no groups
CHOICE_NUMBER = 4  # of the alternative
CHOICE_SIZE = 5

# --- a level of the search: one bound event ---------------------------------------
AT = 0  # next candidate, or place in the index
END = 1
STEP = 2
PLACES = 3  # where the index lists candidates, -1: candidates themselves
CANDIDATE = 4
POSITION = 5
NUMBER = 6  # of the element in its group
PHASE = 7
CHILD = 8
LOWEST = 9  # rows that all bound events leave to others by the window
HIGHEST = 10
START = 11  # smallest start and largest end of bound events
STOP = 12
FRESH = 13  # one of the bound events is new
INTERVALS = 14
BOUND = 15  # bits, in a tree
PREVIOUS_CANDIDATE = 16  # candidate of the variable before this level
PREVIOUS_FIRST = 17
LEVEL_SIZE = 18
SCAN, ACCEPT, CHILDREN, EXTEND = 0, 1, 2, 3

# --- an interval that the key of a candidate must lie in ---------------------------------------
INTERVAL_KEYS = 0
INTERVAL_LOW = 1
INTERVAL_HIGH = 2
INTERVAL_OUTSIDE = 3  # the key must lie outside
INTERVAL_SIZE = 4

# --- reach: how far rows reach by order and by window ---------------------------------------
REACH_BEFORE = 0  # every row before it is in front of this place
REACH_AFTER = 1  # every row after it is at this place or behind
REACH_FIRST = 2  # the first row that fits into a window with it
REACH_END = 3  # behind the last row that fits into a window with it
REACH_SIZE = 4

# --- cursor of the search ---------------------------------------
SEEK_SEGMENT = 0
SEEK_LEVEL = 1
SEEK_ROOT = 2
SEEK_BEGIN = 3  # first row of the slice; matches must hold a row from here on
SEEK_END = 4  # rows up to here are read
SEEK_STEPS = 5
SEEK_TRIED = 6
SEEK_EVALUATIONS = 7
SEEK_OPENED = 8  # levels opened: instances
SEEK_DEEPEST = 9
SEEK_MATCHES = 10
SEEK_BINDINGS = 11
SEEK_COUNT = 12  # matches counted in the segment
SEEK_FRESH = 13  # first new row
SEEK_MEMORY = 14  # events looked at in the buffer
SEEK_ABSENCES = 15  # absence checks made
SEEK_WIDE = 16  # 1: the count has left int64
SEEK_DETAIL = 17  # how much room is needed
SEEK_JOINED = 18  # lists of the group before that are joined already
SEEK_BOUND = 19  # events bound
SEEK_SIZE = 20

# --- aggregates over matches --------------------------------------------------------------------
TALLY_FUNCTION = 0
TALLY_SOURCE = 1
TALLY_VARIABLE = 2
TALLY_TYPED = 3  # 0 integers, 1 floats
TALLY_SIZE = 4
TALLY_SUM, TALLY_MIN, TALLY_MAX = 0, 1, 2
SOURCE_SINGLE, SOURCE_SUM, SOURCE_MIN, SOURCE_MAX = 0, 1, 2, 3

NULL_KEY = -(2**63)
