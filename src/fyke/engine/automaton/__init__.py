"""The automaton: runs read events, and their states are sets of bound variables ([N], [S] 4)."""
