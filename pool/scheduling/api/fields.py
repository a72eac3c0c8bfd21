"""What a job request looks like, for the API description; `pool.scheduling.spec` is what checks it."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from pool.scheduling.api.wishes import CheckpointSignal, Devices, Levels, Neighbours, TrainingStep, UnequalDevices


class Resources(Devices):
    devices = UnequalDevices(many=True, required=False, help_text="devices that differ, instead of gpus and the like")
    cpu_milli = serializers.IntegerField(required=False, min_value=0, help_text="thousandths of a core")
    memory_mib = serializers.IntegerField(required=False, min_value=0, help_text="of the node")
    replicas = serializers.IntegerField(required=False, default=1, min_value=1, max_value=4096)
    min_replicas = serializers.IntegerField(
        required=False, min_value=0, help_text="so many must start together; usually all replicas"
    )
    max_replicas = serializers.IntegerField(
        required=False, min_value=1, max_value=4096, help_text="elastic: takes up to so many where there is room"
    )


@extend_schema_serializer(component_name="Role")
class RoleRequest(Levels, Resources):
    name = serializers.CharField(max_length=40)


@extend_schema_serializer(component_name="Job")
class JobRequest(Levels, Resources):
    """Resources stand here for a job of one role, or in each of `roles`."""

    name = serializers.CharField(max_length=120)
    tenant = serializers.CharField(required=False, help_text="needed when you may work in several")
    project = serializers.CharField(required=False)
    queue = serializers.CharField(required=False)
    kind = serializers.ChoiceField(
        choices=["batch", "service", "interactive", "workflow_step"], required=False, default="batch"
    )
    command = serializers.ListField(
        child=serializers.CharField(), help_text='the program first: ["python", "train.py"]'
    )
    environment = serializers.DictField(child=serializers.CharField(), required=False)
    labels = serializers.DictField(child=serializers.CharField(), required=False)
    roles = RoleRequest(many=True, required=False)
    min_member = serializers.IntegerField(
        required=False, min_value=1, help_text="the gang: so many replicas start together or none does"
    )
    priority = serializers.IntegerField(required=False, default=0, min_value=-1000, max_value=1000)
    preemptible = serializers.BooleanField(required=False, default=False)
    max_duration = serializers.IntegerField(required=False, min_value=1, help_text="seconds from the start")
    max_retries = serializers.IntegerField(required=False, default=0, min_value=0, max_value=100)
    affinity = Neighbours(many=True, required=False, help_text="near these jobs")
    anti_affinity = Neighbours(
        many=True, required=False, help_text="away from these jobs; required keeps them away too"
    )
    step = TrainingStep(required=False)
    preempt_min_runtime = serializers.IntegerField(
        required=False, min_value=0, help_text="seconds that it runs before it may be preempted"
    )
    start_no_earlier_than = serializers.DateTimeField(required=False, help_text="waits until then; with a zone")
    deadline = serializers.DateTimeField(required=False, help_text="is ended then, waiting or running")
    checkpoint = CheckpointSignal(required=False)


class PriorityChange(serializers.Serializer[Any]):
    priority = serializers.IntegerField(min_value=-1000, max_value=1000)
