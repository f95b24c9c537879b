"""Numbers shared by the compiler of lazy plans (:mod:`fyke.engine.lazy.steps`) and their kernel.

A lazy plan is one int64 array: a head with the offsets of its tables, then the tables.  A *step* binds
one variable; steps form a tree, whose paths are the chains of the alternatives ([L] 5), or stand side
by side in alternatives whose order is chosen while searching ([L] 7).
"""

from __future__ import annotations

from fyke.engine.kernels.layout import CURSOR_OWN

# --- head of a plan ---------------------------------------
PLAN_STEPS = 0  # offset of the step table
PLAN_LIST = 1  # variables in order before, after, or possibly the same
PLAN_COMPARISONS = 2
PLAN_CHECKS = 3
PLAN_SINGLE_ABSENCES = 4
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
PLAN_JOINT_ABSENCES = 18
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
STEP_SAME = 10  # some variable could be bound to the same event
STEP_COMPARISONS, STEP_COMPARISONS_END = 11, 12
STEP_CHECKS, STEP_CHECKS_END = 13, 14
STEP_CLOSE, STEP_CLOSE_END = 15, 16
STEP_SINGLE_ABSENCES, STEP_SINGLE_ABSENCES_END = 17, 18
STEP_CHILDREN, STEP_CHILDREN_END = 19, 20
STEP_ACCEPT, STEP_ACCEPT_END = 21, 22
STEP_BIT = 23  # of a tree: the bit of the variable within its alternative
STEP_ALTERNATIVE = 24  # of a tree
STEP_PLAIN = 25  # comparisons decide alone: nothing else is to be checked
STEP_LEAF = 26  # plain, single, accepted by one alternative, without children
STEP_COUPLED = 27  # of a group: a condition couples neighbours
STEP_ANCHOR = 28  # of the first group that is counted: no single variable bounds its window
STEP_NEXT_GROUP = 29  # when groups are counted: the step of the next one, or -1
STEP_FIRST_GROUP = 30  # the step of the first one
STEP_JOINT_ABSENCES, STEP_JOINT_ABSENCES_END = 31, 32  # absences of several events
STEP_SIZE = 33

# --- a comparison of the new event with a bound one, or with the element before ----------
COMPARISON_NEW = 0  # where the keys of the new variable's candidates begin
COMPARISON_OTHER = 1  # variable
COMPARISON_OLD = 2  # where its keys begin
COMPARISON_OPERATOR = 3  # as in decide(): new operator old
COMPARISON_LAGGED = 4  # the other is the element before
COMPARISON_INDEX = 5  # of an equality: its row in the index head, or -1
COMPARISON_SIZE = 6

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
SINGLE_ABSENCE_VARIABLE = 0
SINGLE_ABSENCE_ROLE = 1
SINGLE_ABSENCE_CANDIDATES = 2
SINGLE_ABSENCE_BEFORE, SINGLE_ABSENCE_BEFORE_END = 3, 4
SINGLE_ABSENCE_AFTER, SINGLE_ABSENCE_AFTER_END = 5, 6
SINGLE_ABSENCE_COMPARISONS, SINGLE_ABSENCE_COMPARISONS_END = 7, 8
SINGLE_ABSENCE_CHECKS, SINGLE_ABSENCE_CHECKS_END = 9, 10
SINGLE_ABSENCE_NEEDS = 11  # bits, in a tree
SINGLE_ABSENCE_SIZE = 12

# --- absences of several events, which a search decides beside the bound ones ----------
JOINT_ABSENCE_ARENA = 0  # the arena of the alternative's own program
JOINT_ABSENCE_ROW = 1  # row of its absence table
JOINT_ABSENCE_NUMBERS = 2  # where the list of its numbers for all variables begins
JOINT_ABSENCE_NEEDS = 3  # bits, in a tree
JOINT_ABSENCE_SIZE = 4

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
LEVEL_SIZE = 16
SCAN, ACCEPT, CHILDREN, EXTEND = 0, 1, 2, 3

# --- an interval that the key of a candidate must lie in ---------------------------------------
INTERVAL_KEYS = 0
INTERVAL_LOW = 1
INTERVAL_HIGH = 2
INTERVAL_OUTSIDE = 3  # the key must lie outside
INTERVAL_SIZE = 4

# --- cursor of the search, behind what all engines have ------------------------------------------
SEEK_LEVEL = CURSOR_OWN + 0
SEEK_ROOT = CURSOR_OWN + 1
SEEK_BEGIN = CURSOR_OWN + 2  # first row of the slice; matches must hold a row from here on
SEEK_END = CURSOR_OWN + 3  # rows up to here are read
SEEK_OPENED = CURSOR_OWN + 4  # levels opened: instances
SEEK_DEEPEST = CURSOR_OWN + 5
SEEK_COUNT = CURSOR_OWN + 6  # matches counted in the segment
SEEK_FRESH = CURSOR_OWN + 7  # first new row
SEEK_MEMORY = CURSOR_OWN + 8  # events looked at in the buffer
SEEK_ABSENCES = CURSOR_OWN + 9  # absence checks made
SEEK_WIDE = CURSOR_OWN + 10  # 1: the count has left int64
SEEK_JOINED = CURSOR_OWN + 11  # lists of the group before that are joined already
SEEK_BOUND = CURSOR_OWN + 12  # events bound
SEEK_ANCHOR = CURSOR_OWN + 13  # first events of groups that have been counted
SEEK_ABSENT = CURSOR_OWN + 14  # work of the search for absences of several events
SEEK_SIZE = CURSOR_OWN + 15

# --- aggregates over matches --------------------------------------------------------------------
TALLY_FUNCTION = 0
TALLY_SOURCE = 1
TALLY_VARIABLE = 2
TALLY_TYPED = 3  # 0 integers, 1 floats
TALLY_SIZE = 4
TALLY_SUM, TALLY_MIN, TALLY_MAX = 0, 1, 2
SOURCE_SINGLE, SOURCE_SUM, SOURCE_MIN, SOURCE_MAX = 0, 1, 2, 3
