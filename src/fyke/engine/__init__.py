"""Programs, kernels and state: a plan and events to matches."""
