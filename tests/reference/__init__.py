"""Tests of the naive reference; :mod:`.notation` is the little language they are written in."""
