"""Kernels of the join tree."""
