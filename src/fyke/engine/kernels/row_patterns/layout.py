"""Numbers shared by the host of row patterns (:mod:`fyke.engine.row_patterns`) and its kernels."""

from __future__ import annotations

END = -1  # a move to no state: the rows taken are a match
NO_MATCH = -2  # in place of a move: there is none that leads to a match
ALWAYS = -1  # in place of a condition: true of every row

# --- settings ---------------------------------------------------------------------------------------
SET_STATES = 0
SET_NARROW = 1  # 1: what a row can lead to is one integer, a bit a state
SET_ALWAYS = 2  # bit mask of the states whose condition is true of every row
SET_GOES_ON = 3  # bit mask of the states behind which a match can end
SET_ENDS = 4  # bit mask of the states with which a match can end at the last row
SET_FIRST = 5  # bit mask of the states that can take the first row of a partition as the first of a match
SET_START = 6  # the same of any other row
SET_FIRST_EMPTY = 7  # 1: a match from the first row can be empty
SET_START_EMPTY = 8
SET_SKIP = 9  # one of the SKIP_ codes
SET_LABELS = 10  # 1: the states of the rows of matches are written
SET_WINDOW = 11  # last row minus first row at most; negative: no window
SET_EVERY = 12  # 1: all ways to match from each row
SET_LABEL_COLUMN = 13  # the column of integers that holds the labels of the rows taken; -1: none
SET_NODES = 14  # how many nodes there are
SET_FROM = 15  # the row from which on matches start
SET_STOP = 16  # the row in front of which they do
SET_MAY_BE_EMPTY = 17  # 1: a match may have no row
SET_SIZE = 18

MOST_BITS = 62  # states of a narrow automaton: an int64 stays above zero

SKIP_PAST_LAST, SKIP_NEXT_ROW, SKIP_FIRST, SKIP_LAST = 0, 1, 2, 3

# --- flags of a state ---
FLAG_SKIPPED_TO = 1  # SKIP TO looks for it
FLAG_ENDS = 2  # a match can end with it at the last row of a partition
FLAG_WAITS = 4  # another row can follow it

LONG_SPAN = 1 << 9  # rows whose nodes are written by four passes side by side

NEVER = 2**31 - 1  # no match from here ends at any row

# --- cursor: where a kernel call goes on ----------------------------------------------------------
AT_SEGMENT = 0
AT_ROW = 1  # where the next match may start; -1: the segment is not entered yet
AT_MATCHES = 2  # matches written
AT_STATES = 3  # states written
AT_FAR = 4  # window: behind the last row that fits into it with the current start
AT_STEPS = 5  # rows marked and rows walked over
AT_DEPTH = 6  # history: rows taken by the current way; -1: none is begun
AT_BACK = 7  # rows given back in this partition
AT_EVALUATIONS = 8
AT_FORGONE = 9  # ways not followed because the same had failed before
AT_NEXT = 10  # where the search of the last segment went on when it came to its end
AT_KEPT_MATCHES = 11  # open partitions: matches written before the current attempt
AT_KEPT_STATES = 12
AT_EXPIRING = 13  # 1: the attempt has no match, and the search is for how far it came
AT_SIZE = 14

# --- what a kernel call ends with, beside DONE and PAUSE --------------------------------------------
NEED_MATCHES = 20
NEED_STATES = 21
SKIPS_NOWHERE = 22  # the match has no row of the variable that is skipped to
SKIPS_TO_START = 23  # it is the first row of the match
NEED_DEPTH = 24

# --- a position that conditions load from -------------------------------------------------------------
POSITION_FROM = 0  # one of the FROM_ codes
POSITION_SET = 1  # among the rows of which labels; -1: all rows of the match
POSITION_LOGICAL = 2
POSITION_PHYSICAL = 3
POSITION_SIZE = 4
FROM_CURRENT, FROM_FIRST, FROM_LAST = 0, 1, 2

# --- what a failed way is remembered by, beside its row and its state ----------------------------------
KEY_KIND = 0
KEY_SET = 1
KEY_COUNT = 2  # how many positions, or the place of a number
KEY_SIZE = 3
KEY_START, KEY_SINCE, KEY_FIRSTS, KEY_LASTS, KEY_ROWS, KEY_INTEGER, KEY_FLOAT = 0, 1, 2, 3, 4, 5, 6
NEVER_KEPT = -1  # in place of the keys of a state: its ways are not remembered

PATIENCE = 64  # rows given back in a partition before failed ways are remembered

# --- open partitions: how far a call looks, and what it does with an attempt that is not decided ----------
AHEAD_OPEN = 0  # 1: partitions end with an unknown row
AHEAD_DEFINE = 1  # rows behind its row that a condition of a row and its neighbours looks at most
AHEAD_FROM_BEGIN = 2  # rows behind the first row of a match that measures look at most
AHEAD_FROM_END = 3  # rows behind its last row
AHEAD_APART = 4  # 1: attempts from later rows go on behind one that is not decided
AHEAD_TIMEOUTS = 5  # 1: attempts that expire are written, too
AHEAD_SIZE = 6
REACH_POSITION, REACH_PHYSICAL = 0, 1  # a position, and how many rows behind it a condition looks
