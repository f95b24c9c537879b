"""The command ``fyke``: what the package does, for those who write no Python."""
