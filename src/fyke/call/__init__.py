"""One call: the options and events a user gave, checked, and the road they take."""
