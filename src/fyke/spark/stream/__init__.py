"""Matching on streaming DataFrames: the engine's door behind a stateful operator of Spark."""
