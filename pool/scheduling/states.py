"""States and the transitions that are allowed; every change of state goes through this table."""

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from console.common.errors import Conflict


class JobState(TextChoices):
    QUEUED = "queued", _("Queued")
    STARTING = "starting", _("Starting")
    RUNNING = "running", _("Running")
    STOPPING = "stopping", _("Stopping")
    SUCCEEDED = "succeeded", _("Succeeded")
    FAILED = "failed", _("Failed")
    CANCELLED = "cancelled", _("Cancelled")
    EXPIRED = "expired", _("Expired")


class ReplicaState(TextChoices):
    ASSIGNED = "assigned", _("Assigned")  # holds its slice; the start command is on its way
    RUNNING = "running", _("Running")
    STOPPING = "stopping", _("Stopping")
    SUCCEEDED = "succeeded", _("Succeeded")
    FAILED = "failed", _("Failed")
    STOPPED = "stopped", _("Stopped")
    LOST = "lost", _("Lost")  # its node gave no proof of life until the lease ran out


class StopReason(TextChoices):
    """Why a job is stopping, which decides where it goes once the last process has ended."""

    CANCEL = "cancel", _("Cancelled by request")
    EXPIRE = "expire", _("Maximum duration reached")
    DEADLINE = "deadline", _("Deadline reached")
    REQUEUE = "requeue", _("Requeued by request")
    GANG = "gang", _("A member of the gang ended")
    PREEMPT = "preempt", _("Preempted")
    MOVE = "move", _("Moved")


JOB_FINAL = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED, JobState.EXPIRED})
JOB_ACTIVE = frozenset({JobState.STARTING, JobState.RUNNING, JobState.STOPPING})
REPLICA_FINAL = frozenset({ReplicaState.SUCCEEDED, ReplicaState.FAILED, ReplicaState.STOPPED, ReplicaState.LOST})

JOB_TRANSITIONS: dict[str, frozenset[str]] = {
    JobState.QUEUED: frozenset({JobState.STARTING, JobState.CANCELLED, JobState.FAILED, JobState.EXPIRED}),
    JobState.STARTING: frozenset(
        {JobState.RUNNING, JobState.STOPPING, JobState.SUCCEEDED, JobState.FAILED, JobState.QUEUED}
    ),
    JobState.RUNNING: frozenset({JobState.STOPPING, JobState.SUCCEEDED, JobState.FAILED, JobState.QUEUED}),
    JobState.STOPPING: frozenset(
        {JobState.CANCELLED, JobState.EXPIRED, JobState.QUEUED, JobState.FAILED, JobState.SUCCEEDED}
    ),
    JobState.SUCCEEDED: frozenset(),
    JobState.FAILED: frozenset({JobState.QUEUED}),  # retry
    JobState.CANCELLED: frozenset({JobState.QUEUED}),
    JobState.EXPIRED: frozenset({JobState.QUEUED}),
}

REPLICA_TRANSITIONS: dict[str, frozenset[str]] = {
    ReplicaState.ASSIGNED: frozenset({ReplicaState.RUNNING, ReplicaState.STOPPING, *REPLICA_FINAL}),
    ReplicaState.RUNNING: frozenset({ReplicaState.STOPPING, *REPLICA_FINAL}),
    ReplicaState.STOPPING: REPLICA_FINAL,
    **{final: frozenset() for final in REPLICA_FINAL},
}


def check_job(old: str, new: str) -> None:
    """Raises Conflict unless a job may go from `old` to `new`."""
    if new not in JOB_TRANSITIONS[old]:
        raise Conflict(f"a job that is {old} cannot become {new}", code="transition_not_allowed")


def check_replica(old: str, new: str) -> None:
    """Raises Conflict unless a replica may go from `old` to `new`."""
    if new not in REPLICA_TRANSITIONS[old]:
        raise Conflict(f"a replica that is {old} cannot become {new}", code="transition_not_allowed")
