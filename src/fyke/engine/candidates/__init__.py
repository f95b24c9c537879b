"""The rows that each variable can be bound to, their attributes as keys, and how far rows reach."""
