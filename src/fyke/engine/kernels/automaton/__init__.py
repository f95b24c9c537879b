"""Kernels of the automaton."""
