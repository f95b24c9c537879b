"""The engine: a plan, a state and prepared rows to matches and a new state."""
