"""Matches to rows of the result."""
