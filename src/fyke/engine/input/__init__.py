"""Rows of events to the arrays the kernels read."""
