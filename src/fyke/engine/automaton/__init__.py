"""The engine of runs: an automaton whose states are sets of bound variables ([N], [S] 4)."""
