"""Kernels that decide conditions."""
