"""Conditions as data: compiled for the kernels, or evaluated by Arrow."""
