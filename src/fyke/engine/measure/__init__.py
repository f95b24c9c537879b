"""What the events are like, and what a call has done."""
