"""Defragmentation: how much free capacity is of no use, and which moves would make it useful again."""

from pool.engine.defrag.measure import measure
from pool.engine.defrag.sweep import plan_sweep
from pool.engine.defrag.types import Budget, ClassLine, Measure, Step, Sweep, Work

__all__ = ["Budget", "ClassLine", "Measure", "Step", "Sweep", "Work", "measure", "plan_sweep"]
