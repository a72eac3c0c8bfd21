"""What a job request looks like, for the API description; `pool.scheduling.spec` is what checks it."""

from typing import Any

from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers

_ISOLATIONS = ["auto", "exclusive", "mig", "vgpu"]


@extend_schema_field(
    {
        "oneOf": [
            {"type": "integer", "minimum": 1},
            {"type": "array", "items": {"type": "integer", "minimum": 1}},
        ],
        "description": "MiB of every device, or a list with one number per device",
    }
)
class DeviceMemory(serializers.JSONField):
    pass


class Resources(serializers.Serializer[Any]):
    gpus = serializers.IntegerField(required=False, default=1, min_value=0, max_value=64, help_text="per replica")
    gpu_fraction = serializers.DecimalField(
        5, 4, required=False, help_text="share of one card: any 1 %, or a multiple of 1/16, up to 1"
    )
    gpu_cores_percent = serializers.IntegerField(
        required=False, min_value=1, max_value=100, help_text="the same in percent; give one of the two"
    )
    gpu_memory_mib = DeviceMemory(required=False)
    mig_profile = serializers.CharField(required=False, help_text="such as 1g.10gb; then isolation is mig")
    isolation = serializers.ChoiceField(choices=_ISOLATIONS, required=False, default="auto")
    models = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="allowed models, such as H100-80GB; empty: any"
    )
    cpu_milli = serializers.IntegerField(required=False, min_value=0, help_text="thousandths of a core")
    memory_mib = serializers.IntegerField(required=False, min_value=0, help_text="of the node")
    bandwidth_sensitive = serializers.BooleanField(required=False, default=False)
    replicas = serializers.IntegerField(required=False, default=1, min_value=1, max_value=4096)


@extend_schema_serializer(component_name="Role")
class RoleRequest(Resources):
    name = serializers.CharField(max_length=40)
    min_replicas = serializers.IntegerField(required=False, min_value=0)
    max_replicas = serializers.IntegerField(required=False, min_value=1)


@extend_schema_serializer(component_name="Job")
class JobRequest(Resources):
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


class PriorityChange(serializers.Serializer[Any]):
    priority = serializers.IntegerField(min_value=-1000, max_value=1000)
