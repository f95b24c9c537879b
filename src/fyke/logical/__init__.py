"""Query and schema to a legal, typed normal form."""
