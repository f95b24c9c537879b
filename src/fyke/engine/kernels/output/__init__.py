"""Kernels that write results."""
