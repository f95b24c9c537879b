"""Kernels that read columns: types, order, neighbourhood."""
