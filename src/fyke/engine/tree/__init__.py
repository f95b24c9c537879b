"""The join-tree engine ([T])."""
