"""Windows as the scheduler keeps them: whose they are, which cards, and who may enter."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from pool.engine import calendar as engine
from pool.engine.fleet import holds_of
from pool.engine.types import Hold, JobRequest, NodeSpec, Placed, ReplicaRequest, RoleRequest
from pool.scheduling.mirror import FleetMirror
from pool.scheduling.models import Reservation, Window
from pool.scheduling.preemption.pledges import read_placed
from pool.scheduling.waiting import Waiting

NOBODY = "reserved"  # tenant of the holds that keep a window: no real one's trust group


@dataclass(frozen=True, slots=True)
class Kept:
    """An open window. `job`: whose start it keeps; or `tenant` and `queue` (None: any of the tenant's)."""

    pk: int
    job: int | None
    reservation: int | None
    tenant: int | None
    queue: int | None
    start: datetime
    end: datetime | None
    sure: bool
    rule: engine.Window
    placed: Placed
    holds: tuple[Hold, ...]

    @property
    def key(self) -> int:
        """In the mirror, beside the keys of jobs."""
        return -self.pk

    @property
    def cards(self) -> set[int]:
        return {hold.device_key for hold in self.holds if hold.device_key is not None}

    def is_of(self, item: Waiting) -> bool:
        """Whether the window is the job's own."""
        if self.job is not None:
            return self.job == item.pk
        return self.belongs(item.tenant_id, item.queue_id)

    def belongs(self, tenant_id: int, queue_id: int) -> bool:
        """Whether the reservation is of that tenant, for that queue."""
        return tenant_id == self.tenant and self.queue in (None, queue_id)


def kept(row: Window, mirror: FleetMirror) -> Kept:
    """From the database; reservation must be loaded."""
    of, placed = row.reservation, read_placed(row.job_id or 0, row.placement)
    return Kept(
        pk=row.pk,
        job=row.job_id,
        reservation=row.reservation_id,
        tenant=of.tenant_id if of else None,
        queue=of.queue_id if of else None,
        start=row.starts_at,
        end=row.ends_at,
        sure=row.sure,
        rule=engine.Window(row.pk, int(row.starts_at.timestamp()), bool(of and of.lends), of.give_back_s if of else 0),
        placed=placed,
        holds=tuple(_holds(placed, mirror, with_part=of is not None)),
    )


def _holds(placed: Placed, mirror: FleetMirror, with_part: bool) -> Iterator[Hold]:
    """`with_part`: as large a part of a node's CPU and memory as of its cards, so that the cards can be used."""
    yield from holds_of(placed.replicas, NOBODY, NOBODY)
    if not with_part:
        return
    for replica in placed.replicas:
        spec = mirror.specs.get(replica.node_key)
        if spec is not None and spec.devices:
            yield _part(spec, len(replica.devices))


def _part(spec: NodeSpec, cards: int) -> Hold:
    return Hold(
        device_key=None,
        node_key=spec.key,
        share_bp=0,
        memory_mib=0,
        isolation="",
        mig_profile="",
        mig_start=-1,
        mig_size=0,
        tenant=NOBODY,
        trust_group=NOBODY,
        cpu_milli=spec.cpu_milli * cards // len(spec.devices),
        host_memory_mib=spec.memory_mib * cards // len(spec.devices),
    )


def request_of(row: Reservation, replicas: int | None = None) -> JobRequest:
    """What a reservation takes, as a job of the engine; the cards of one replica stand in one node."""
    count = row.replicas if replicas is None else replicas
    each = ReplicaRequest(row.cards, isolation="exclusive", models=frozenset(row.models_allowed))
    role = RoleRequest("reserved", each, count, count)
    return JobRequest(row.pk, NOBODY, NOBODY, (role,), count, required_topology_level=row.level)


def visitor(item: Waiting, bound_s: int | None, leaving_s: int | None) -> engine.Visitor:
    """`leaving_s`: from when it is told to stop until it has; None: not known yet."""
    if leaving_s is None:
        return engine.Visitor(bound_s, False)
    return engine.Visitor(bound_s, item.preemptible, item.spared_s + leaving_s)
