"""The engine of join trees ([T])."""
