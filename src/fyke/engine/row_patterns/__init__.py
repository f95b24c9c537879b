"""Row patterns on tables: rows in order, conditions as columns, matches, and rows of the result."""
