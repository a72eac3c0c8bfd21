"""Jobs, their roles, attempts and replicas, and what was decided about them."""

from functools import partial

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from console.common import ids
from pool.scheduling.states import JobState, ReplicaState, StopReason


class Job(models.Model):
    class Kind(models.TextChoices):
        BATCH = "batch", _("Batch")
        SERVICE = "service", _("Service")
        INTERACTIVE = "interactive", _("Interactive")
        WORKFLOW_STEP = "workflow_step", _("Workflow step")

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "job"), editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="jobs", db_index=False)
    project = models.ForeignKey("tenants.Project", on_delete=models.PROTECT, related_name="jobs")
    queue = models.ForeignKey("scheduling.Queue", on_delete=models.PROTECT, related_name="jobs", db_index=False)
    submitted_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=120)
    kind = models.CharField(max_length=16, choices=Kind.choices, default=Kind.BATCH)
    labels = models.JSONField(default=dict, blank=True)
    spec = models.JSONField()  # the accepted request, canonical: clone submits it again
    command = models.JSONField()  # argv
    environment = models.JSONField(default=dict, blank=True)
    # where it wants to stand (spec.job_wishes): topology levels, neighbours, training step; empty for most
    wishes = models.JSONField(default=dict, blank=True)
    priority = models.SmallIntegerField(default=0)
    preemptible = models.BooleanField(default=False)
    preempt_min_runtime = models.DurationField(null=True, blank=True)  # is not preempted before it ran so long
    min_member = models.PositiveIntegerField(default=1)
    max_duration = models.DurationField(null=True, blank=True)
    max_retries = models.PositiveSmallIntegerField(default=0)
    not_before = models.DateTimeField(null=True)  # waits until then, whatever is free
    finish_by = models.DateTimeField(null=True)  # is ended then, waiting or running
    state = models.CharField(max_length=12, choices=JobState.choices, default=JobState.QUEUED)
    stop_reason = models.CharField(max_length=8, choices=StopReason.choices, blank=True, default="")
    outcome = models.CharField(max_length=200, blank=True, default="")  # in words, for finished jobs
    attempt_count = models.PositiveSmallIntegerField(default=0)
    cloned_from = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()
    queued_at = models.DateTimeField()  # start of the present wait; requeue moves it
    started_at = models.DateTimeField(null=True)  # first process of the present attempt
    deadline_at = models.DateTimeField(null=True)  # start + max_duration by the server's clock, or finish_by if sooner
    finished_at = models.DateTimeField(null=True)
    total_share_bp = models.BigIntegerField(default=0)  # asked for, all replicas, for limits and sorting

    class Meta:
        indexes = [
            models.Index(fields=["state", "-priority", "queued_at", "id"], name="job_waiting_order"),
            models.Index(fields=["tenant", "-id"], name="job_tenant_newest"),
            # a tenant's and a queue's open jobs are found without reading their whole history (case web 18)
            models.Index(fields=["tenant", "state"], name="job_tenant_state"),
            models.Index(fields=["queue", "state"], name="job_queue_state"),
            models.Index(fields=["deadline_at"], condition=models.Q(deadline_at__isnull=False), name="job_deadline"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.public_id})"


class JobRole(models.Model):
    """One kind of replica of a job. Memory is per device: unequal cards may be asked for."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="roles", db_index=False)
    name = models.CharField(max_length=40)
    position = models.PositiveSmallIntegerField()
    replicas = models.PositiveIntegerField()
    min_replicas = models.PositiveIntegerField()
    max_replicas = models.PositiveIntegerField()
    devices = models.PositiveSmallIntegerField()  # per replica; 0: no GPU
    share_bp = models.PositiveIntegerField()  # per device
    memory_mib = models.JSONField(default=list)  # per device; one entry: every device; empty: by share
    mig_profile = models.CharField(max_length=40, blank=True, default="")
    isolation = models.CharField(max_length=12)
    models_allowed = models.JSONField(default=list)
    cpu_milli = models.PositiveIntegerField(default=0)
    host_memory_mib = models.PositiveBigIntegerField(default=0)
    bandwidth_sensitive = models.BooleanField(default=False)
    # beyond plain resources (spec.role_wishes): vendors, conditions on labels, unequal devices; empty for most
    wishes = models.JSONField(default=dict, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "name"], name="role_once_per_job")]

    def __str__(self) -> str:
        return f"{self.job_id}/{self.name}"


class Decision(models.Model):
    """One decision of the engine and its reasons."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "dec"), editable=False)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="decisions", db_index=False)
    at = models.DateTimeField()
    placed = models.BooleanField()
    snapshot = models.CharField(max_length=64)  # what was decided on: a chain of the ledger, and how many changes
    epoch = models.BigIntegerField()  # of the scheduler that decided
    duration_us = models.PositiveIntegerField()
    reasons = models.JSONField()
    # what it was made on besides the snapshot (ledger/inputs.py), and the outcome in full: a replay gives the same
    inputs = models.JSONField(default=dict)
    digest = models.CharField(max_length=32, blank=True, default="")

    class Meta:
        indexes = [models.Index(fields=["job", "-id"], name="decision_job_newest")]

    def __str__(self) -> str:
        return self.public_id


class Attempt(models.Model):
    """One run of a job, from placement to the end of its last process."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="attempts", db_index=False)
    number = models.PositiveSmallIntegerField()
    decision = models.ForeignKey(Decision, null=True, on_delete=models.SET_NULL, related_name="+")
    epoch = models.BigIntegerField()
    placed_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "number"], name="attempt_once")]

    def __str__(self) -> str:
        return f"{self.job_id} attempt {self.number}"


class Replica(models.Model):
    """One process group on one node."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(ids.make, "rep"), editable=False)
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="replicas", db_index=False)
    job = models.ForeignKey(
        Job, on_delete=models.CASCADE, related_name="replicas", db_constraint=False
    )  # the attempt's
    role = models.ForeignKey(JobRole, on_delete=models.CASCADE, related_name="+", db_index=False)
    rank = models.PositiveIntegerField()
    node = models.ForeignKey("inventory.Node", on_delete=models.PROTECT, related_name="replicas", db_index=False)
    state = models.CharField(max_length=12, choices=ReplicaState.choices, default=ReplicaState.ASSIGNED)
    exit_code = models.IntegerField(null=True)
    exit_detail = models.CharField(max_length=200, blank=True, default="")
    assigned_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)  # the true end, not when it was heard of

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt", "rank"], name="replica_rank_once")]
        indexes = [models.Index(fields=["node", "state"], name="replica_node_state")]

    def __str__(self) -> str:
        return self.public_id


class JobEvent(models.Model):
    """A line of the job page's timeline. `kind` is translated by the page, `params` fill it in."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="events", db_index=False)
    at = models.DateTimeField()
    kind = models.CharField(max_length=40)
    params = models.JSONField(default=dict)
    actor_label = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        indexes = [models.Index(fields=["job", "id"], name="event_job_order")]

    def __str__(self) -> str:
        return f"{self.job_id} {self.kind}"
