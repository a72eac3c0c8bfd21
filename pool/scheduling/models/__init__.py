"""job > attempt > replica > allocation > interval."""

from pool.scheduling.models.allocation import Allocation, Interval
from pool.scheduling.models.budget import Budget, UseHour
from pool.scheduling.models.command import NodeCommand
from pool.scheduling.models.defrag import DefragMove, DefragPlan, DefragRules, DefragStep, FragmentationSample
from pool.scheduling.models.job import Attempt, Decision, Job, JobEvent, JobRole, Replica
from pool.scheduling.models.ledger import LedgerBase, LedgerPlan, LedgerSegment
from pool.scheduling.models.preemption import Preemption, Victim
from pool.scheduling.models.queue import Queue
from pool.scheduling.models.reservation import Reservation, Window
from pool.scheduling.models.sharing import DeviceWeight, QueueSample, SharingRules
from pool.scheduling.states import JobState, ReplicaState

__all__ = [
    "Allocation",
    "Attempt",
    "Budget",
    "Decision",
    "DefragMove",
    "DefragPlan",
    "DefragRules",
    "DefragStep",
    "DeviceWeight",
    "FragmentationSample",
    "Interval",
    "Job",
    "JobEvent",
    "JobRole",
    "JobState",
    "LedgerBase",
    "LedgerPlan",
    "LedgerSegment",
    "NodeCommand",
    "Preemption",
    "Queue",
    "QueueSample",
    "Replica",
    "ReplicaState",
    "Reservation",
    "SharingRules",
    "UseHour",
    "Victim",
    "Window",
]
