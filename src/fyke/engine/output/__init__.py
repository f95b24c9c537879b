"""Output: matches to rows of the result, their identifiers, and aggregates."""
