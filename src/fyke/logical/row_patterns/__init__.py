"""Row patterns made legal and typed: a clause and the columns of its rows to what an engine is told."""
