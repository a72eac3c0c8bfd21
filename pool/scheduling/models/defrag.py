"""How much free capacity is of no use, and the moves that were planned and made against it."""

from functools import partial

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from console.common import ids


class DefragRules(models.Model):
    """One row, of the whole pool. Times in seconds."""

    class Mode(models.TextChoices):
        PREVIEW = "preview", _("Preview")  # plans are shown and cannot be carried out
        APPROVE = "approve", _("Approve")  # an operator approves each
        AUTOMATIC = "automatic", _("Automatic")  # inside the windows they are carried out by themselves

    mode = models.CharField(max_length=12, choices=Mode.choices, default=Mode.APPROVE)
    period_s = models.PositiveIntegerField(default=1800)  # between two plans; 0: on demand only
    # of automatic plans: {"days": [0..6, Monday first], "from": "01:00", "to": "05:00"}; none: at any time
    windows = models.JSONField(default=list, blank=True)
    time_zone = models.CharField(max_length=64, default="Asia/Shanghai")  # of the windows
    busiest_percent = models.PositiveSmallIntegerField(default=50)  # automatic plans only while so much is held at most
    moves = models.PositiveIntegerField(default=32)  # of a plan
    lost_s = models.PositiveBigIntegerField(default=36_000)  # GPU-seconds that a plan may lose
    per_queue = models.PositiveIntegerField(default=8)  # moves of one queue's jobs in a plan
    parallel = models.PositiveIntegerField(default=2)  # moves at once
    rest_s = models.PositiveIntegerField(default=300)  # so many moves (parallel) begin within this time at most
    job_rest_s = models.PositiveIntegerField(default=3600)  # a job that moved or was preempted is left alone so long

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(pk=1), name="defrag_rules_once")]

    def __str__(self) -> str:
        return self.mode


class DefragPlan(models.Model):
    """Moves that were planned together. The row is the truth: a scheduler that takes over goes on with it."""

    class State(models.TextChoices):
        WANTED = "wanted", _("Being made")
        EMPTY = "empty", _("Nothing to gain")
        PROPOSED = "proposed", _("Proposed")
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        DROPPED = "dropped", _("Dropped")

    class Dropped(models.TextChoices):
        REJECTED = "rejected", _("Rejected")
        EXPIRED = "expired", _("Nobody approved it in time")
        STALE = "stale", _("The pool is no longer as it was")

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "dfr"), editable=False)
    state = models.CharField(max_length=8, choices=State.choices, default=State.WANTED)
    mode = models.CharField(max_length=12, choices=DefragRules.Mode.choices)
    on_demand = models.BooleanField(default=False)
    dropped = models.CharField(max_length=8, choices=Dropped.choices, blank=True, default="")
    before = models.JSONField(default=dict)  # defrag.published.figures_of a measure
    after = models.JSONField(default=dict)
    moves = models.PositiveIntegerField(default=0)
    cost_s = models.BigIntegerField(default=0)  # GPU-seconds of work that are lost
    snapshot = models.CharField(max_length=64, blank=True, default="")
    duration_us = models.PositiveBigIntegerField(default=0)
    asked_by = models.CharField(max_length=200)
    approved_by = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField()
    approved_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["state"], condition=Q(state="running"), name="defrag_running_once"),
            models.UniqueConstraint(fields=["state"], condition=Q(state="wanted"), name="defrag_wanted_once"),
        ]

    def __str__(self) -> str:
        return self.public_id


class DefragStep(models.Model):
    """Moves that belong together: they clear a block for work of one sort, or admit a job that waits."""

    plan = models.ForeignKey(DefragPlan, on_delete=models.CASCADE, related_name="steps", db_index=False)
    number = models.PositiveIntegerField()
    work = models.JSONField()  # defrag.published.work_of: what can run there afterwards
    job = models.ForeignKey("scheduling.Job", null=True, on_delete=models.CASCADE, related_name="+")
    placement = models.JSONField()  # the block, or the job's place
    freed_bp = models.BigIntegerField()
    cost_s = models.BigIntegerField()
    closed_at = models.DateTimeField(null=True)  # its place is no longer held

    class Meta:
        constraints = [models.UniqueConstraint(fields=["plan", "number"], name="defrag_step_once")]

    def __str__(self) -> str:
        return f"{self.plan_id}/{self.number}"


class DefragMove(models.Model):
    """One job that stops on one node and starts on another. `target` is held for it from its stop until it starts."""

    class State(models.TextChoices):
        PLANNED = "planned", _("Planned")
        MOVING = "moving", _("Moving")
        MOVED = "moved", _("Moved")
        DROPPED = "dropped", _("Dropped")

    class Dropped(models.TextChoices):
        CHANGED = "changed", _("The job no longer runs there")
        TAKEN = "taken", _("Its new place is taken")
        STEP = "step", _("Another move of its step was dropped")
        LATE = "late", _("It did not end in time")
        PLAN = "plan", _("The plan was dropped")

    step = models.ForeignKey(DefragStep, on_delete=models.CASCADE, related_name="moves", db_index=False)
    number = models.PositiveIntegerField()  # within the plan
    job = models.ForeignKey("scheduling.Job", on_delete=models.CASCADE, related_name="moves", db_index=False)
    replica = models.ForeignKey("scheduling.Replica", on_delete=models.CASCADE, related_name="+", db_index=False)
    attempt = models.PositiveSmallIntegerField()  # the one that ends
    state = models.CharField(max_length=8, choices=State.choices, default=State.PLANNED)
    dropped = models.CharField(max_length=8, choices=Dropped.choices, blank=True, default="")
    source = models.JSONField()  # node and parts of devices, as held when it was planned
    target = models.JSONField()  # a placement
    cost_s = models.BigIntegerField()  # GPU-seconds lost
    checkpoint_age_s = models.PositiveIntegerField(null=True)  # when it was planned; null: never saved
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["step", "number"], name="defrag_move_once"),
            models.UniqueConstraint(fields=["job"], condition=Q(state="moving"), name="defrag_moving_once"),
        ]
        indexes = [
            models.Index(fields=["job", "-id"], name="defrag_move_job"),
            models.Index(fields=["started_at"], condition=Q(started_at__isnull=False), name="defrag_move_started"),
        ]

    def __str__(self) -> str:
        return f"{self.job_id} {self.state}"


class FragmentationSample(models.Model):
    """How much free capacity was of no use at a moment, in bp of a card; fragmentation is stranded over capacity."""

    at = models.DateTimeField(unique=True)
    capacity_bp = models.BigIntegerField()
    free_bp = models.BigIntegerField()
    stranded_bp = models.BigIntegerField()
    spread_bp = models.PositiveIntegerField()  # of the capacity: mean over the classes of what is of no use to each
    stranded_devices = models.PositiveIntegerField()
    devices = models.PositiveIntegerField()
    classes = models.JSONField()
    cells = models.BinaryField(null=True)  # of the latest only: the map (defrag.cells)

    def __str__(self) -> str:
        return f"fragmentation at {self.at}"
