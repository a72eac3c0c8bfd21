"""What must hold after every run, read from the tables and from what the model nodes really ran."""

from collections import defaultdict
from datetime import datetime, timedelta

from django.db.models import Sum

from billing.metering.models import UsageRecord
from billing.metering.queries import reconcile
from billing.metering.services import meter_closed
from console.audit.queries import verify
from pool.inventory.models import Device, Node
from pool.scheduling.models import Allocation, Attempt, Interval, Job, JobState, Replica
from pool.scheduling.states import JOB_FINAL
from tests.simulator.world import START, World

Span = tuple[datetime, datetime, int]


def everything(world: World) -> None:
    converged(world)
    no_double_use(world)
    gangs_whole()
    clocks_true(world)
    billed_once(world)
    assert verify().faults == ()


def converged(world: World) -> None:
    """I7: nothing accepted is lost, everything ends, everything is given back."""
    states = dict(Job.objects.values_list("pk", "state"))
    assert world.accepted <= states.keys(), "an accepted job is gone"
    stuck = {pk: state for pk, state in states.items() if JobState(state) not in JOB_FINAL}
    assert not stuck, f"jobs that never ended: {stuck}"
    assert not Allocation.objects.filter(released_at__isnull=True).exists()
    assert not Interval.objects.filter(ended_at__isnull=True).exists()
    assert not Attempt.objects.filter(ended_at__isnull=True).exists()
    for device in Device.objects.all():
        assert (device.used_share_bp, device.used_memory_mib, device.mig_slots) == (0, 0, 0)
    for node in Node.objects.all():
        assert (node.used_cpu_milli, node.used_memory_mib) == (0, 0)
    for agent in world.agents:
        assert not [p for p in agent.processes.values() if p.running(world.now)], "a process outlived its job"


def no_double_use(world: World) -> None:
    """I1, in the books and on the cards themselves."""
    books: dict[int, list[Span]] = defaultdict(list)
    for row in Interval.objects.all():
        books[row.device_id].append((row.started_at, row.ended_at, row.share_bp))
    cards: dict[str, list[Span]] = defaultdict(list)
    for agent in world.agents:
        for process in agent.processes.values():
            for device in process.payload["devices"]:
                cards[device["uuid"]].append((process.started_at, process.ends_at, device["share_bp"]))
    for spans in (*books.values(), *cards.values()):
        assert peak(spans) <= 10_000, "part of a card was used twice"


def peak(spans: list[Span]) -> int:
    """The most that was held at one moment; what ends gives back before what starts takes."""
    edges = sorted(edge for start, end, share in spans if end > start for edge in ((end, 0, -share), (start, 1, share)))
    level = highest = 0
    for _, _, change in edges:
        level += change
        highest = max(highest, level)
    return highest


def gangs_whole() -> None:
    """I2: no attempt ever held less than its job's minimum."""
    for attempt in Attempt.objects.select_related("job"):
        count = Replica.objects.filter(attempt=attempt).count()
        assert count >= attempt.job.min_member, f"attempt {attempt.pk} held {count} of {attempt.job.min_member}"


def clocks_true(world: World) -> None:
    """A process ran only while it was held, and the clock stopped when it did (or at the last proof of life)."""
    ran = {replica: p for agent in world.agents for replica, p in agent.processes.items()}
    for row in Interval.objects.select_related("allocation__replica"):
        replica = row.allocation.replica
        process = ran.get(replica.public_id)
        assert row.ended_at >= row.started_at
        if process is None:
            continue
        assert row.started_at <= process.started_at
        if replica.state == "lost":
            assert row.ended_at <= max(process.ends_at, row.started_at), "billed past the end of a lost process"
        else:
            assert row.ended_at == process.ends_at, "the clock did not stop with the process"


def billed_once(world: World) -> None:
    """I3: usage equals what was held, to the microsecond, however often metering runs."""
    later = world.now + timedelta(days=2)
    meter_closed(later)
    first = list(UsageRecord.objects.order_by("pk").values_list("pk", "microseconds", "digest"))
    meter_closed(later)
    assert first == list(UsageRecord.objects.order_by("pk").values_list("pk", "microseconds", "digest"))
    totals = dict(UsageRecord.objects.values_list("interval").annotate(Sum("microseconds")))
    for row in Interval.objects.all():
        held = (row.ended_at - row.started_at) // timedelta(microseconds=1)
        assert totals.get(row.pk, 0) == held
    balance = reconcile(START, later)
    assert balance.holds, f"capacity x time does not add up: {balance.mismatches}"
