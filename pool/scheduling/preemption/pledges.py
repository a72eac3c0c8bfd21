"""Places that are held for jobs until what was stopped for them has ended."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from pool.engine.fleet import holds_of
from pool.engine.types import DevicePlacement, Hold, Placed, ReplicaPlacement, ScoreParts
from pool.scheduling.mirror import FleetMirror
from pool.scheduling.models import Job, Preemption


@dataclass(frozen=True, slots=True)
class Pledge:
    """`leaving`: replicas that were told to end so that `placed` becomes free."""

    pk: int
    public_id: str
    job_id: int
    placed: Placed
    holds: tuple[Hold, ...]
    leaving: frozenset[int]
    since: datetime

    @property
    def nodes(self) -> set[int]:
        return {hold.node_key for hold in self.holds}

    @property
    def devices(self) -> set[int]:
        return {hold.device_key for hold in self.holds if hold.device_key is not None}


def pledge_of(row: Preemption, tenant: str, trust_group: str) -> Pledge:
    """From the database; the victims must be loaded."""
    placed = read_placed(row.job_id, row.placement)
    leaving = frozenset(pk for victim in row.victims.all() for pk in victim.replicas)
    holds = tuple(holds_of(placed.replicas, tenant, trust_group))
    return Pledge(row.pk, row.public_id, row.job_id, placed, holds, leaving, row.created_at)


def open_pledges() -> list[Pledge]:
    """Of all open preemptions, whoever planned them."""
    rows = Preemption.objects.filter(state=Preemption.State.OPEN).order_by("pk")
    return [
        pledge_of(row, row.job.tenant.public_id, row.job.tenant.trust_key)
        for row in rows.select_related("job__tenant").prefetch_related("victims")
    ]


def is_free(pledge: Pledge, mirror: FleetMirror) -> bool:
    """Whether nothing of what was to leave holds anything there any more."""
    return not any(
        row.replica_id in pledge.leaving for node in pledge.nodes for row in mirror.held.get(node, {}).values()
    )


def is_stale(pledge: Pledge, mirror: FleetMirror) -> bool:
    """Whether a node or card of it is gone or takes no work any more."""
    open_cards: set[int] = set()
    for node in pledge.nodes:
        spec = mirror.specs.get(node)
        if spec is None or not spec.schedulable:
            return True
        open_cards |= {card.key for card in spec.devices if card.schedulable}
    return not pledge.devices <= open_cards


def states_of(jobs: Iterable[int]) -> dict[int, str]:
    return dict(Job.objects.filter(pk__in=list(jobs)).values_list("pk", "state"))


def placement_json(placed: Placed) -> dict[str, Any]:
    return {
        "replicas": [asdict(replica) for replica in placed.replicas],
        "score": asdict(placed.score),
        "considered": placed.considered,
    }


def read_placed(job: int, stored: dict[str, Any]) -> Placed:
    """What `placement_json` stored."""
    replicas = tuple(
        ReplicaPlacement(**{**one, "devices": tuple(DevicePlacement(**device) for device in one["devices"])})
        for one in stored["replicas"]
    )
    return Placed(job, replicas, ScoreParts(**stored["score"]), None, stored["considered"])
