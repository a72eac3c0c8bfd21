"""How conditions, neighbours and unequal devices look in a request, for the API description."""

from typing import Any

from drf_spectacular.utils import extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from pool.engine.affinity import AT
from pool.engine.levels import LEVELS
from pool.engine.selectors import OPERATORS
from pool.scheduling.spec.parse import MAX_SAVING_S, SIGNALS

_CONDITION = {
    "type": "object",
    "required": ["key"],
    "properties": {
        "key": {"type": "string"},
        "operator": {"type": "string", "enum": list(OPERATORS), "default": "In"},
        "values": {"type": "array", "items": {"type": "string"}},
    },
}
_TEXTS = {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


@extend_schema_field(
    {
        "oneOf": [{"type": "object", "additionalProperties": _TEXTS}, {"type": "array", "items": _CONDITION}],
        "description": 'all must hold: {"zone": "a"}, {"zone": ["a", "b"]}, or a list of conditions',
        "example": {"zone": "a"},
    }
)
class Selector(serializers.JSONField):
    pass


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


class Neighbours(serializers.Serializer[Any]):
    """Live jobs of the same tenant whose labels meet `job_labels`."""

    job_labels = Selector()
    level = serializers.ChoiceField(choices=list(AT), required=False, default="node")
    required = serializers.BooleanField(  # type: ignore[assignment]
        required=False, default=True, help_text="false: a preference"
    )
    weight = serializers.IntegerField(required=False, min_value=1, max_value=100, help_text="of a preference")


class TrainingStep(serializers.Serializer[Any]):
    """For the estimate of communication; what is left out: 7 B parameters in bf16, one second, nothing hidden."""

    gradient_bytes = serializers.IntegerField(required=False, min_value=0, max_value=2**50)
    compute_us = serializers.IntegerField(required=False, min_value=1)
    overlap_percent = serializers.IntegerField(required=False, min_value=0, max_value=100)


class CheckpointSignal(serializers.Serializer[Any]):
    """Before a planned stop (preempted, moved, requeued) the process group of each replica gets `signal`. It saves its
    state, writes or touches the file that WEIR_CHECKPOINT_FILE names, and is then ended; at the latest after `grace_s`.
    A process that does not handle the signal ends by it."""

    signal = serializers.ChoiceField(choices=list(SIGNALS), required=False, default="USR1")
    grace_s = serializers.IntegerField(required=False, default=60, min_value=1, max_value=MAX_SAVING_S)


class Devices(serializers.Serializer[Any]):
    gpus = serializers.IntegerField(required=False, default=1, min_value=0, max_value=64, help_text="per replica")
    gpu_fraction = serializers.DecimalField(
        5, 4, required=False, help_text="share of one card: any 1 %, or a multiple of 1/16, up to 1"
    )
    gpu_cores_percent = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=100,
        help_text="alone: the share in percent; beside gpu_fraction, which then says memory: a ceiling of compute",
    )
    gpu_memory_mib = DeviceMemory(required=False)
    mig_profile = serializers.CharField(required=False, help_text="such as 1g.10gb; then isolation is mig")
    isolation = serializers.ChoiceField(choices=["auto", "exclusive", "mig", "vgpu"], required=False, default="auto")
    models = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="allowed models, such as H100-80GB; empty: any"
    )
    vendors = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="allowed vendors, such as nvidia; empty: any"
    )
    preference = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="models or vendors by rank, best first: the first that holds the whole job; no others",
    )
    gpu_selector = Selector(required=False, help_text="conditions on the labels of cards and their nodes")
    bandwidth_sensitive = serializers.BooleanField(required=False, default=False)


@extend_schema_serializer(component_name="UnequalDevices")
class UnequalDevices(Devices):
    gpus = serializers.IntegerField(required=False, default=1, min_value=1, max_value=64)
    preference = None  # type: ignore[assignment]


class Levels(serializers.Serializer[Any]):
    required_topology_level = serializers.ChoiceField(
        choices=list(LEVELS), required=False, help_text="all of it in one domain of this level, or it waits"
    )
    preferred_topology_level = serializers.ChoiceField(
        choices=list(LEVELS),
        required=False,
        help_text="in one domain of this level where one has the room",
    )
