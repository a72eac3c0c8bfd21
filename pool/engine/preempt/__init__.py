"""Who must go so that a waiting job can run, or why nobody does. Pure.

Keep a :class:`Roster` of what runs beside the fleet and the books; ask :func:`plan` about a job that
does not fit.
"""

from pool.engine.preempt.plan import plan
from pool.engine.preempt.roster import Roster
from pool.engine.preempt.types import Asking, NoPlan, Plan, Rules, Running, RunningReplica, Victim

__all__ = ["Asking", "NoPlan", "Plan", "Roster", "Rules", "Running", "RunningReplica", "Victim", "plan"]
