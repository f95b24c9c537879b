"""The inner loops: plain functions on arrays, compiled by Numba."""
