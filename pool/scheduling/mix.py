"""The typical mix of requests, observed from what was submitted lately."""

from collections import Counter

from pool.engine.mix import DEFAULT_MIX, TypicalMix
from pool.engine.types import ReplicaRequest
from pool.scheduling.models import JobRole

ENOUGH = 50  # fewer requests say too little about what is typical
LATEST = 2_000


def observed_mix() -> TypicalMix:
    """What the latest jobs asked for; the engine's default until there are enough of them."""
    rows = JobRole.objects.order_by("-pk").values_list(
        "replicas", "devices", "share_bp", "mig_profile", "isolation", "models_allowed", "cpu_milli", "memory_mib"
    )[:LATEST]
    counts: Counter[ReplicaRequest] = Counter()
    for replicas, devices, share, profile, isolation, models, cpu, memory in rows:
        request = ReplicaRequest(
            devices=devices,
            share_bp=share,
            memory_mib=tuple(memory),
            mig_profile=profile,
            isolation=isolation,
            models=frozenset(models),
            cpu_milli=cpu,
        )
        counts[request] += replicas
    if sum(counts.values()) < ENOUGH:
        return DEFAULT_MIX
    return TypicalMix.observe((request, float(count)) for request, count in counts.items())
