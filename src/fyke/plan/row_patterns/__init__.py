"""Row patterns planned: a pattern to a program, and a program to an automaton whose moves are in order."""
