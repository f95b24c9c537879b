"""Planning: the normal form to a plan, its cost, and its explanation."""
