"""How rows of this room read in answers. Times are UTC, shares basis points of a card, memory MiB."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.common import clock
from console.common.actor import Actor
from pool.scheduling import ports
from pool.scheduling.api.outlook import OutlookRow
from pool.scheduling.models import Allocation, Attempt, Decision, Job, JobEvent, JobRole, Queue, Replica
from pool.scheduling.outlook.queries import outlook_of
from pool.scheduling.telling import inputs_for, reasons_for, snapshot_for

_HIDDEN = "***"
_MORE = ["attempts", "decision", "outlook", "cloned_from", "checkpoint", "checkpoint_at"]


class JobRow(serializers.ModelSerializer[Job]):
    id = serializers.CharField(source="public_id")
    tenant = serializers.CharField(source="tenant.slug")
    project = serializers.CharField(source="project.slug")
    queue = serializers.CharField(source="queue.name")
    submitted_by = serializers.CharField(source="submitted_by.email", default=None, allow_null=True)
    max_duration = serializers.SerializerMethodField(help_text="seconds")
    preempt_min_runtime = serializers.SerializerMethodField(help_text="seconds")
    start_no_earlier_than = serializers.DateTimeField(source="not_before", allow_null=True)
    deadline = serializers.DateTimeField(source="finish_by", allow_null=True)

    class Meta:
        model = Job
        fields = [
            "id",
            "name",
            "tenant",
            "project",
            "queue",
            "kind",
            "state",
            "stop_reason",
            "outcome",
            "priority",
            "preemptible",
            "labels",
            "total_share_bp",
            "min_member",
            "max_duration",
            "max_retries",
            "preempt_min_runtime",
            "start_no_earlier_than",
            "deadline",
            "attempt_count",
            "submitted_by",
            "created_at",
            "queued_at",
            "started_at",
            "deadline_at",
            "finished_at",
        ]

    def get_max_duration(self, job: Job) -> int | None:
        return int(job.max_duration.total_seconds()) if job.max_duration else None

    def get_preempt_min_runtime(self, job: Job) -> int | None:
        return int(job.preempt_min_runtime.total_seconds()) if job.preempt_min_runtime else None


class RoleRow(serializers.ModelSerializer[JobRole]):
    gpus = serializers.IntegerField(source="devices")
    models = serializers.ListField(source="models_allowed", child=serializers.CharField())
    gpu_memory_mib = serializers.ListField(source="memory_mib", child=serializers.IntegerField())
    memory_mib = serializers.IntegerField(source="host_memory_mib")
    wishes = serializers.DictField(help_text="what it asks for beyond these, as in its request")

    class Meta:
        model = JobRole
        fields = [
            "name",
            "replicas",
            "min_replicas",
            "max_replicas",
            "gpus",
            "share_bp",
            "gpu_memory_mib",
            "mig_profile",
            "isolation",
            "models",
            "cpu_milli",
            "memory_mib",
            "bandwidth_sensitive",
            "wishes",
        ]


class AttemptRow(serializers.ModelSerializer[Attempt]):
    class Meta:
        model = Attempt
        fields = ["number", "placed_at", "started_at", "ended_at", "outcome"]


class DecisionRow(serializers.ModelSerializer[Decision]):
    id = serializers.CharField(source="public_id")
    snapshot = serializers.SerializerMethodField(
        help_text="chain of the ledger and number of changes; empty for those who do not see all work"
    )
    inputs = serializers.SerializerMethodField(
        help_text="the rule by which it came, and what its queue held before and after, in basis points of a card"
    )
    digest = serializers.CharField(help_text="of the outcome: a replay gives the same")
    reasons = serializers.SerializerMethodField(help_text="counts and scores are for those who see all work")

    class Meta:
        model = Decision
        fields = ["id", "at", "placed", "snapshot", "duration_us", "reasons", "inputs", "digest"]

    def get_snapshot(self, decision: Decision) -> str:
        return snapshot_for(self.context["actor"], decision.snapshot)

    @extend_schema_field({"type": "object", "additionalProperties": True})
    def get_inputs(self, decision: Decision) -> dict[str, Any]:
        return inputs_for(self.context["actor"], decision.inputs)

    @extend_schema_field({"type": "object", "additionalProperties": True})
    def get_reasons(self, decision: Decision) -> dict[str, Any]:
        return reasons_for(self.context["actor"], decision.reasons)


class JobDetail(JobRow):
    command = serializers.ListField(child=serializers.CharField())
    environment = serializers.SerializerMethodField(help_text="values are hidden from those who may only look")
    wishes = serializers.DictField(help_text="topology levels, neighbours and training step, as in its request")
    roles = RoleRow(many=True)
    attempts = serializers.SerializerMethodField()
    decision = serializers.SerializerMethodField(help_text="the newest, with its reasons")
    outlook = serializers.SerializerMethodField(help_text="of a waiting job, as the scheduler told last; else null")
    cloned_from = serializers.CharField(source="cloned_from.public_id", default=None, allow_null=True)
    checkpoint = serializers.SerializerMethodField(help_text="how it is asked to save before a planned stop; or null")
    checkpoint_at = serializers.SerializerMethodField(
        help_text="when the newest attempt last told that its state was saved; null: never"
    )

    class Meta(JobRow.Meta):
        fields = [*JobRow.Meta.fields, "command", "environment", "wishes", "roles", *_MORE]

    @extend_schema_field({"type": "object", "additionalProperties": {"type": "string"}})
    def get_environment(self, job: Job) -> dict[str, str]:
        actor: Actor = self.context["actor"]
        if actor.may_work_in(job.tenant_id, job.project_id):
            return dict(job.environment)
        return dict.fromkeys(job.environment, _HIDDEN)

    @extend_schema_field({"type": "object", "nullable": True, "additionalProperties": True})
    def get_checkpoint(self, job: Job) -> dict[str, Any] | None:
        chosen: dict[str, Any] | None = job.spec.get("checkpoint")
        return chosen

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_checkpoint_at(self, job: Job) -> Any:
        saved = ports.checkpoints([job.pk]).get(job.pk)
        return serializers.DateTimeField().to_representation(saved.at) if saved else None

    @extend_schema_field(AttemptRow(many=True))
    def get_attempts(self, job: Job) -> Any:
        return AttemptRow(job.attempts.order_by("-number")[:20], many=True).data

    @extend_schema_field(DecisionRow(allow_null=True))
    def get_decision(self, job: Job) -> Any:
        newest = job.decisions.order_by("-id").first()
        return DecisionRow(newest, context=self.context).data if newest else None

    @extend_schema_field(OutlookRow(allow_null=True))
    def get_outlook(self, job: Job) -> Any:
        told = outlook_of(self.context["actor"], job, clock.now())
        return OutlookRow(told).data if told else None


class EventRow(serializers.ModelSerializer[JobEvent]):
    actor = serializers.CharField(source="actor_label")

    class Meta:
        model = JobEvent
        fields = ["at", "kind", "params", "actor"]


class ReplicaRow(serializers.ModelSerializer[Replica]):
    id = serializers.CharField(source="public_id")
    attempt = serializers.IntegerField(source="attempt.number")
    role = serializers.CharField(source="role.name")
    node = serializers.CharField(source="node.name")

    class Meta:
        model = Replica
        fields = [
            "id",
            "attempt",
            "role",
            "rank",
            "node",
            "state",
            "exit_code",
            "exit_detail",
            "assigned_at",
            "started_at",
            "ended_at",
        ]


class DeviceOf(serializers.Serializer[Any]):
    id = serializers.CharField(source="public_id")
    index = serializers.IntegerField()
    uuid = serializers.CharField()
    model = serializers.CharField(source="model.name")


class AllocationRow(serializers.ModelSerializer[Allocation]):
    id = serializers.CharField(source="public_id")
    job = serializers.CharField(source="job.public_id")
    replica = serializers.CharField(source="replica.public_id")
    tenant = serializers.CharField(source="tenant.slug")
    node = serializers.CharField(source="node.name")
    device = DeviceOf(allow_null=True)
    memory_mib = serializers.IntegerField(help_text="of the device")

    class Meta:
        model = Allocation
        fields = [
            "id",
            "job",
            "replica",
            "tenant",
            "node",
            "device",
            "isolation",
            "share_bp",
            "memory_mib",
            "mig_profile",
            "mig_start",
            "mig_size",
            "cpu_milli",
            "host_memory_mib",
            "created_at",
            "released_at",
        ]


class QueueRow(serializers.ModelSerializer[Queue]):
    id = serializers.CharField(source="public_id")
    tenant = serializers.CharField(source="tenant.slug")
    parent = serializers.SerializerMethodField(  # type: ignore[assignment]
        help_text="name of the queue above it; null at the top, and where that queue is another tenant's"
    )
    held_bp = serializers.SerializerMethodField(help_text="share held now, in basis points of a card")
    waiting = serializers.IntegerField(help_text="jobs")
    active = serializers.IntegerField(help_text="jobs")

    class Meta:
        model = Queue
        fields = [
            "id",
            "tenant",
            "name",
            "parent",
            "state",
            "priority",
            "quota_share_bp",
            "limit_share_bp",
            "limit_running_jobs",
            "over_quota_weight",
            "lending_limit_bp",
            "quota_gpu_memory_mib",
            "quota_cpu_milli",
            "quota_memory_mib",
            "limit_gpu_memory_mib",
            "limit_cpu_milli",
            "limit_memory_mib",
            "held_bp",
            "waiting",
            "active",
        ]

    def get_parent(self, queue: Any) -> str | None:
        above = queue.parent
        return above.name if above is not None and above.tenant_id == queue.tenant_id else None

    def get_held_bp(self, queue: Any) -> int:
        return queue.held_bp or 0
