"""The normal form split into what a row decides alone and what only several events decide."""
