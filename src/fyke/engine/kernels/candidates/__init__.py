"""Kernels that list the rows a variable can be bound to, and how far rows reach."""
