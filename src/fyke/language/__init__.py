"""The query as written: grammar, trees, text and Python in, canonical text out."""
