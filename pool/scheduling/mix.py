"""The typical mix of requests, observed from what was submitted lately."""

from collections import Counter

from pool.engine.mix import DEFAULT_MIX, TypicalMix
from pool.engine.types import ReplicaRequest
from pool.scheduling.models import JobRole
from pool.scheduling.requests import of_replica

ENOUGH = 50  # fewer requests say too little about what is typical
LATEST = 2_000


def observed_mix() -> TypicalMix:
    """What the latest jobs asked for; the engine's default until there are enough of them."""
    rows = JobRole.objects.order_by("-pk").values_list(
        "replicas",
        "devices",
        "share_bp",
        "memory_mib",
        "mig_profile",
        "isolation",
        "models_allowed",
        "cpu_milli",
        "wishes",
    )[:LATEST]
    counts: Counter[ReplicaRequest] = Counter()
    for replicas, devices, share, memory, profile, isolation, models, cpu, wishes in rows:
        counts[of_replica(devices, share, memory, profile, isolation, models, cpu, 0, False, wishes)] += replicas
    if sum(counts.values()) < ENOUGH:
        return DEFAULT_MIX
    return TypicalMix.observe((request, float(count)) for request, count in counts.items())
