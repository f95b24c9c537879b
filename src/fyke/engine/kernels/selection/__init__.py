"""Kernels that choose among matches."""
