"""Room that was made for a job by stopping others, and what it cost them."""

from functools import partial

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from console.common import ids


class Preemption(models.Model):
    """A plan that is being carried out: `placement` is held for `job` from here on until it starts or the plan ends.

    The row is the truth: a scheduler that takes over holds what open rows say and goes on with them.
    """

    class State(models.TextChoices):
        OPEN = "open", _("Making room")
        STARTED = "started", _("Started")
        DROPPED = "dropped", _("Dropped")

    class Why(models.TextChoices):
        PRIORITY = "priority", _("Higher priority in the same queue")
        RECLAIM = "reclaim", _("Its queue is entitled to more")
        RESERVED = "reserved", _("Cards are reserved for it")

    class Dropped(models.TextChoices):
        GONE = "gone", _("The job no longer waits")
        STALE = "stale", _("The place is no longer there")
        LATE = "late", _("What was stopped did not end in time")

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "pre"), editable=False)
    job = models.ForeignKey("scheduling.Job", on_delete=models.CASCADE, related_name="preemptions", db_index=False)
    queue = models.ForeignKey("scheduling.Queue", on_delete=models.PROTECT, related_name="+", db_index=False)
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    why = models.CharField(max_length=8, choices=Why.choices)
    dropped = models.CharField(max_length=8, choices=Dropped.choices, blank=True, default="")
    placement = models.JSONField()  # replicas with their devices, as the engine placed them
    shares = models.JSONField()  # by queue: entitlement, and what was held before and is held after
    cost_s = models.BigIntegerField()  # GPU-seconds of work that are lost
    snapshot = models.CharField(max_length=64)
    epoch = models.BigIntegerField()  # fence of the scheduler that planned it
    duration_us = models.PositiveIntegerField()
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job"], condition=Q(state="open"), name="preemption_open_once"),
        ]
        indexes = [models.Index(fields=["job", "-id"], name="preemption_job_newest")]

    def __str__(self) -> str:
        return self.public_id


class Victim(models.Model):
    """What one job lost: all of it, or replicas beyond its minimum."""

    class Because(models.TextChoices):
        LOWER_PRIORITY = "lower_priority", _("Lower priority in the same queue")
        OVER_ENTITLEMENT = "over_entitlement", _("Its queue held more than it is entitled to")
        LENT = "lent", _("It ran on cards that are reserved for others")

    preemption = models.ForeignKey(Preemption, on_delete=models.CASCADE, related_name="victims")
    job = models.ForeignKey("scheduling.Job", on_delete=models.CASCADE, related_name="evictions", db_index=False)
    queue = models.ForeignKey("scheduling.Queue", on_delete=models.PROTECT, related_name="+", db_index=False)
    attempt = models.PositiveSmallIntegerField()
    whole = models.BooleanField()
    replicas = models.JSONField()  # primary keys of those that are stopped
    cost_s = models.BigIntegerField()
    checkpoint_age_s = models.PositiveIntegerField(null=True)  # null: never saved
    because = models.CharField(max_length=16, choices=Because.choices)
    # others of its queue should have gone first, but their going did not help: each job pays that way once
    out_of_turn = models.BooleanField(default=False)
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["preemption", "job"], name="victim_once")]
        indexes = [models.Index(fields=["job", "-id"], name="victim_job_newest")]

    def __str__(self) -> str:
        return f"{self.job_id} for {self.preemption_id}"
