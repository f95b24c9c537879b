"""Measuring: statistics of the events, and clocks."""
