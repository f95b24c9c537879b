"""Fyke on Apache Spark: the only package that imports pyspark, classic and Connect alike."""
