"""Do I1, I2, I3 and I7 hold? `python -m tests.chaos.verdict FOLDER [--settled]` prints a JSON list of violations.

Without --settled only what must hold at every instant is asked; with it, also that all has come to its end.
"""

import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import django


def main(folder: Path, settled: bool) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    django.setup()
    found = snapshot(acknowledged(folder))
    if settled:
        found += [*not_settled(), *unbilled()]
    print(json.dumps(found + list(ran_twice(folder))))


def acknowledged(folder: Path) -> set[str]:
    """What the load has been promised; read before the database is, which can only know more by then."""
    path = folder / "acknowledged"
    return set(path.read_text().split()) if path.exists() else set()


def snapshot(promised: set[str]) -> list[str]:
    """All from one view of the database: counters and rows of different instants would seem to disagree."""
    from django.db import connection, transaction

    with transaction.atomic():
        if connection.vendor == "postgresql":
            connection.cursor().execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        return [
            *double_use_now(),
            *double_use_ever(),
            *torn_gangs(),
            *broken_intervals(),
            *unwritten_outages(),
            *lost_jobs(promised),
        ]


def double_use_now() -> Iterator[str]:
    """I1: what is held sums to the counters that the database guards, and to no more than there is."""
    from pool.inventory.models import Device
    from pool.scheduling.models import Allocation

    share: Counter[int] = Counter()
    memory: Counter[int] = Counter()
    slots: defaultdict[int, list[int]] = defaultdict(list)
    for row in Allocation.objects.filter(released_at__isnull=True, device__isnull=False):
        share[row.device_id] += row.share_bp
        memory[row.device_id] += row.memory_mib
        slots[row.device_id] += range(row.mig_start, row.mig_start + row.mig_size)
    for device in Device.objects.all():
        held = (share[device.pk], memory[device.pk])
        if held != (device.used_share_bp, device.used_memory_mib):
            yield f"I1 device {device}: holds {held}, counters say {device.used_share_bp}, {device.used_memory_mib}"
        if held[0] > 10_000 or held[1] > device.memory_mib:
            yield f"I1 device {device}: oversold, {held}"
        if len(slots[device.pk]) != len(set(slots[device.pk])):
            yield f"I1 device {device}: a MIG slot is held twice"


def double_use_ever() -> Iterator[str]:
    """I1: at no instant of the past did the intervals of a device sum to more than the device."""
    from pool.scheduling.models import Interval

    changes: defaultdict[int, list[tuple[datetime, int]]] = defaultdict(list)
    for device, share, started, ended in Interval.objects.values_list("device", "share_bp", "started_at", "ended_at"):
        changes[device].append((started, share))
        if ended is not None:
            changes[device].append((ended, -share))
    for device, points in changes.items():
        if peak(points) > 10_000:
            yield f"I1 device {device}: its intervals overlap to {peak(points)} of 10000 basis points"


def peak(points: Iterable[tuple[datetime, int]]) -> int:
    """The most that was held at once. What ends at an instant makes room for what starts at it."""
    held = most = 0
    for _, change in sorted(points):
        held += change
        most = max(most, held)
    return most


def torn_gangs() -> Iterator[str]:
    """I2: a job that is placed holds at least its minimum; one that waits or has ended holds nothing."""
    from django.db.models import Count, Q

    from pool.scheduling.models import Job
    from pool.scheduling.states import JOB_FINAL, REPLICA_FINAL, JobState

    live = Count("replicas", filter=~Q(replicas__state__in=REPLICA_FINAL), distinct=True)
    holding = Count("replicas", filter=Q(replicas__allocations__released_at__isnull=True), distinct=True)
    for job in Job.objects.annotate(live=live, holding=holding):
        if job.state == JobState.STARTING and job.holding < job.min_member:
            yield f"I2 job {job.public_id} is starting with {job.holding} of {job.min_member}"
        if job.state in {JobState.QUEUED, *JOB_FINAL} and job.live:
            yield f"I2 job {job.public_id} is {job.state} with {job.live} replicas alive"


def unwritten_outages() -> Iterator[str]:
    """I3: whatever is out of use has an open outage since then, and nothing else has."""
    from pool.inventory.outages import of_devices, of_nodes

    for row in (*of_nodes(), *of_devices()):
        yield f"I3 {row.table} {row.public_id}: {row.kind}, and its history says otherwise"


def broken_intervals() -> Iterator[str]:
    """I3: the intervals of an allocation follow each other without gap or overlap, from its start to its end."""
    from pool.scheduling.models import Allocation

    rows = Allocation.objects.filter(device__isnull=False).prefetch_related("intervals")
    for allocation in rows:
        pieces = sorted(allocation.intervals.all(), key=lambda piece: piece.number)
        ends_open = [piece.ended_at is None for piece in pieces]
        if not pieces or any(ends_open[:-1]) or ends_open[-1] != (allocation.released_at is None):
            yield f"I3 allocation {allocation.public_id}: {len(pieces)} intervals, open: {ends_open}"
        if any(before.ended_at != after.started_at for before, after in pairwise(pieces)):
            yield f"I3 allocation {allocation.public_id}: a gap or an overlap between its intervals"


def lost_jobs(promised: set[str]) -> Iterator[str]:
    """I7: every job whose submission was acknowledged is there."""
    from pool.scheduling.models import Job

    known = set(Job.objects.values_list("public_id", flat=True))
    yield from (f"I7 job {name} was acknowledged and is lost" for name in promised - known)


def ran_twice(folder: Path) -> Iterator[str]:
    """I7: no replica is started twice; each real process writes one line as its first deed."""
    path = folder / "ran"
    counts = Counter(path.read_text().split() if path.exists() else [])
    yield from (f"I7 replica {name} ran {times} times" for name, times in counts.items() if times > 1)


def not_settled() -> Iterator[str]:
    """I7: nothing is under way any more but the one job that runs for ever."""
    from pool.scheduling.models import Allocation, Job, NodeCommand
    from pool.scheduling.states import JOB_FINAL

    others: Any = Job.objects.exclude(name="forever")
    unfinished = Counter(others.exclude(state__in=JOB_FINAL).values_list("state", flat=True))
    if unfinished:
        yield f"I7 jobs have not come to an end: {dict(unfinished)}"
    held = Allocation.objects.filter(released_at__isnull=True).exclude(job__name="forever").count()
    if held:
        yield f"I7 {held} allocations are still held"
    waiting = NodeCommand.objects.filter(state__in=["pending", "sent"]).count()
    if waiting:
        yield f"I7 {waiting} commands are still on their way"


def unbilled() -> Iterator[str]:
    """I3: the usage records of a closed interval sum to exactly its length and do not overlap."""
    from billing.metering.services import meter_closed
    from console.common import clock
    from pool.scheduling.models import Interval

    meter_closed(clock.now())
    meter_closed(clock.now())  # a second time: nothing may be counted twice
    for interval in Interval.objects.filter(ended_at__isnull=False).prefetch_related("usage_records"):
        length = (interval.ended_at - interval.started_at) // interval.started_at.resolution
        billed = sum(row.microseconds for row in interval.usage_records.all())
        if billed != length:
            yield f"I3 interval {interval.public_id}: held {length} us, billed {billed} us"


if __name__ == "__main__":
    main(Path(sys.argv[1]), "--settled" in sys.argv)
