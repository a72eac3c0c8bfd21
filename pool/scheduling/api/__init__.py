"""API v1 of this room: jobs, allocations, queues. Thin: services write, queries read."""
