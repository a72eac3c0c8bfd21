"""Measuring fragmentation, planning moves against it (in a worker), carrying them out (in the scheduler)."""
