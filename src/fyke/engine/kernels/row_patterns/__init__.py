"""Row patterns: which states of a row can lead to a match, and the walk from row to row."""
