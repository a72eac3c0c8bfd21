"""Reserved capacity: who has it and when, and the cards that are kept for it or for a job that waited long."""

from functools import partial

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from console.common import ids


class Reservation(models.Model):
    """`replicas` times `cards` whole cards of one node each, kept for a tenant or one of its queues, once or again."""

    class Every(models.TextChoices):
        ONCE = "once", _("Once")
        DAY = "day", _("Every day")
        WEEKDAY = "weekday", _("Every weekday")
        WEEK = "week", _("Every week")

    class State(models.TextChoices):
        ACTIVE = "active", _("Active")
        CANCELLED = "cancelled", _("Cancelled")

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "rsv"), editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="reservations")
    queue = models.ForeignKey("scheduling.Queue", null=True, on_delete=models.PROTECT, related_name="+")  # null: all
    name = models.CharField(max_length=120)
    replicas = models.PositiveIntegerField(default=1)
    cards = models.PositiveSmallIntegerField(default=8)
    models_allowed = models.JSONField(default=list)
    level = models.CharField(max_length=16, blank=True, default="")  # topology level that must hold all of it
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    every = models.CharField(max_length=8, choices=Every.choices, default=Every.ONCE)
    until = models.DateTimeField(null=True)  # no occurrence begins after it
    lead_s = models.PositiveIntegerField(default=3600)  # its cards are chosen and kept free so long before
    lends = models.BooleanField(default=True)
    give_back_s = models.PositiveIntegerField(default=120)
    state = models.CharField(max_length=10, choices=State.choices, default=State.ACTIVE)
    origin = models.CharField(max_length=12, default="operator")  # who asked for it: operator, purchase
    reference = models.CharField(max_length=64, blank=True, default="")  # of a purchase
    created_at = models.DateTimeField()
    cancelled_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(ends_at__gt=F("starts_at")), name="reservation_takes_time"),
            models.CheckConstraint(condition=Q(replicas__gt=0, cards__gt=0), name="reservation_of_something"),
            models.UniqueConstraint(
                fields=["origin", "reference"], condition=~Q(reference=""), name="reservation_once_per_reference"
            ),
        ]

    def __str__(self) -> str:
        return self.public_id


class Window(models.Model):
    """Cards that are kept: for one occurrence of a reservation, or for the start of a job that waited long.

    The row is the truth: a scheduler that takes over keeps what open rows say.
    """

    class State(models.TextChoices):
        OPEN = "open", _("Kept")
        STARTED = "started", _("Started")  # the job did
        ENDED = "ended", _("Ended")  # its time is over
        DROPPED = "dropped", _("Dropped")

    class Dropped(models.TextChoices):
        GONE = "gone", _("The job no longer waits")
        STALE = "stale", _("The place is no longer there")
        LATE = "late", _("What had to end before did not")
        CANCELLED = "cancelled", _("Cancelled")
        NO_ROOM = "no_room", _("There was no room")

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "win"), editable=False)
    reservation = models.ForeignKey(Reservation, null=True, on_delete=models.CASCADE, related_name="windows")
    job = models.ForeignKey("scheduling.Job", null=True, on_delete=models.CASCADE, related_name="windows")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True)  # of a job's: when it starts
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    dropped = models.CharField(max_length=10, choices=Dropped.choices, blank=True, default="")
    placement = models.JSONField()  # as of a preemption: replicas with their devices
    cards = models.PositiveIntegerField()
    short = models.PositiveIntegerField(default=0)  # cards that were reserved and could not be kept
    sure = models.BooleanField(
        default=True
    )  # false: the start is an estimate, since not all before it has a time limit
    epoch = models.BigIntegerField()
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(reservation__isnull=False, job__isnull=True, ends_at__isnull=False)
                | Q(reservation__isnull=True, job__isnull=False),
                name="window_of_reservation_or_job",
            ),
            models.UniqueConstraint(fields=["reservation", "starts_at"], name="window_once_per_occurrence"),
            models.UniqueConstraint(fields=["job"], condition=Q(state="open"), name="window_open_once_per_job"),
        ]
        indexes = [
            models.Index(fields=["state"], condition=Q(state="open"), name="window_open"),
            models.Index(fields=["starts_at"], name="window_start"),
        ]

    def __str__(self) -> str:
        return self.public_id
