"""Kernels of the lazy search."""
