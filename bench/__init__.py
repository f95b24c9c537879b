"""Benchmarks: ratios measured in one run beside something else; absolute times mean nothing."""
