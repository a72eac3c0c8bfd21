"""What can be evicted as one piece, and which pieces a queue's entitlement protects.

A gang at its minimum goes as a whole: its core. Replicas beyond the minimum go one by one, and go
first. In a queue, pieces are ranked: cores before replicas beyond a minimum, then by priority, then
by who started first. From the top of that list, each piece that still fits into the entitlement
beside those protected before it is protected; the others are over it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from pool.engine.preempt.types import Running, RunningReplica
from pool.engine.sharing.amounts import NOTHING, Amounts, plus, within


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a running job: its core, or (``surplus``) one replica beyond its minimum."""

    job: Running
    replicas: tuple[RunningReplica, ...]
    surplus: bool
    amounts: Amounts
    share_bp: int
    name: tuple[int, bool, str, int]  # tells it from all others and breaks ties
    rank: tuple[bool, int, int, tuple[int, bool, str, int]]  # in its queue; the smallest is protected first

    @staticmethod
    def of(job: Running, replicas: Sequence[RunningReplica], surplus: bool) -> Unit:
        """A unit, added up."""
        total = NOTHING
        for replica in replicas:
            total = plus(total, replica.amounts)
        first = replicas[0]
        share = sum(replica.share_bp for replica in replicas)
        name = (job.key, surplus, first.role, first.rank)
        joined = first.started_s if surplus else None
        rank = (surplus, -job.priority, job.started_s if joined is None else joined, name)
        return Unit(job, tuple(replicas), surplus, total, share, name, rank)

    def cost(self, now_s: int) -> int:
        """Basis-point-seconds lost with it."""
        return self.share_bp * self.job.lost_s(now_s)


def units_of(job: Running) -> list[Unit]:
    """The core first, then the replicas beyond the minimum."""
    spare = _surplus(job)
    gone = {(replica.role, replica.rank) for replica in spare}
    core = [replica for replica in job.replicas if (replica.role, replica.rank) not in gone]
    units = [Unit.of(job, core, False)] if core else []
    return units + [Unit.of(job, [replica], True) for replica in spare]


def _surplus(job: Running) -> list[RunningReplica]:
    """Replicas that the gang can do without all at once: the highest ranks, later roles first."""
    least = dict(job.role_minimums)
    need = max(1, job.minimum, sum(least.values()))
    spare = len(job.replicas) - need
    roles = list(dict.fromkeys(replica.role for replica in job.replicas))
    found: list[RunningReplica] = []
    for role in reversed(roles):
        mine = sorted((r for r in job.replicas if r.role == role), key=lambda r: -r.rank)
        more = min(len(mine) - least.get(role, 0), spare - len(found))
        found += mine[: max(0, more)]
    return found


def unprotected(units: Iterable[Unit], entitlement: Amounts) -> list[Unit]:
    """The pieces of one queue that its entitlement does not cover, best ranked first."""
    over: list[Unit] = []
    homeless: set[int] = set()  # jobs whose core is over: what goes with it is over too
    room = list(entitlement)
    for unit in sorted(units, key=attrgetter("rank")):
        gpu, memory, cpu, host = unit.amounts
        fits = gpu <= room[0] and memory <= room[1] and cpu <= room[2] and host <= room[3]
        if (not fits and any(a > b for a, b in zip(unit.amounts, room, strict=True) if a)) or unit.job.key in homeless:
            over.append(unit)
            if not unit.surplus:
                homeless.add(unit.job.key)
            continue
        room = [room[0] - gpu, room[1] - memory, room[2] - cpu, room[3] - host]
    return over


def protects(units: Iterable[Unit], entitlement: Amounts, priority: int, amounts: Amounts) -> bool:
    """Whether a core of this priority that started now would be protected."""
    covered = NOTHING
    for unit in sorted(units, key=attrgetter("rank")):
        if unit.surplus or unit.job.priority < priority:
            break
        more = plus(covered, unit.amounts)
        if within(more, entitlement, unit.amounts):
            covered = more
    return within(plus(covered, amounts), entitlement, amounts)
