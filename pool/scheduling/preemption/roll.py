"""All that runs, as the engine's roster: only jobs whose allocations changed are read again."""

import time
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from console.common import sql
from console.common.bulk import read_datetime, read_duration
from pool.engine.preempt import Roster, Running, RunningReplica
from pool.engine.sharing import Amounts, Books, Tree
from pool.engine.sharing.amounts import NOTHING, plus
from pool.scheduling import ports
from pool.scheduling.mirror import Held
from pool.scheduling.sharing.state import Sharing

MANY = 20_000  # jobs that are remembered to have changed
SAVED_S = 10.0  # between two looks at what running jobs saved meanwhile


class Roll:
    """Kept beside a mirror. Jobs and replicas that are stopping already are not in it: they leave by themselves."""

    def __init__(self, sharing: Sharing) -> None:
        self.sharing, self.mirror = sharing, sharing.mirror
        self.roster = Roster()
        self.version = 0
        self._whole = False  # whether all that is held has been read
        self._stopping: set[int] = set()
        self._layout: object = None
        self._saves_due = 0.0

    def sync(self, leaving: Collection[int]) -> bool:
        """Bring it up to date; `leaving`: replicas that were told to end. Whether anybody could be preempted at all."""
        stopping = {pk for (pk,) in sql.fetch("SELECT id FROM scheduling_job WHERE state = 'stopping'")}
        touched = self.mirror.holdings.touched | (stopping ^ self._stopping)
        if not self._whole:
            touched |= {row.job_id for rows in self.mirror.held.values() for row in rows.values()}
            self._whole = True
        if self._layout is not self.sharing.layout.parents:  # leaves have other names
            touched |= set(self.roster.jobs)
        self._stopping, self._layout = stopping, self.sharing.layout.parents
        if touched:
            self._read(touched, set(leaving))
            self.mirror.holdings.touched = set()
            self.version += 1
        self._learn_saves()
        return any(job.preemptible for job in self.roster.jobs.values())

    def rest(self) -> None:
        """While nobody asks: what changed is not gathered without end, but all read again when somebody does."""
        if len(self.mirror.holdings.touched) > MANY:
            self.mirror.holdings.touched = set()
            self.roster, self._whole = Roster(), False

    def books(self, tree: Tree) -> Books:
        """What the leaves hold, without what is leaving."""
        totals: dict[tuple[int, bool], Amounts] = {}
        for job in self.roster.jobs.values():
            key = (job.queue, job.preemptible)
            totals[key] = plus(totals.get(key, NOTHING), job.amounts)
        books = Books(tree)
        for (leaf, preemptible), amounts in totals.items():
            books.add(leaf, amounts, 1, preemptible)
        return books

    def _learn_saves(self) -> None:
        """A checkpoint changes what a victim loses, not who may be one: who was refused is not asked about again."""
        if time.monotonic() < self._saves_due:
            return
        self._saves_due = time.monotonic() + SAVED_S
        movable = [key for key, job in self.roster.jobs.items() if job.preemptible]
        for key, saved in ports.checkpoints(movable).items():
            known = self.roster.jobs[key]
            if known.checkpoint_s != seconds(saved.at):
                self.roster.add(replace(known, checkpoint_s=seconds(saved.at), restart_s=saved.restart_s))

    def _read(self, jobs: set[int], leaving: set[int]) -> None:
        held: dict[int, dict[int, list[Held]]] = {}
        for rows in self.mirror.held.values():
            for row in rows.values():
                if row.job_id in jobs and row.job_id not in self._stopping and row.replica_id not in leaving:
                    held.setdefault(row.job_id, {}).setdefault(row.replica_id, []).append(row)
        facts = _facts(held)
        names = _names(replica for replicas in held.values() for replica in replicas)
        saved = ports.checkpoints(list(held))
        for job in jobs:
            if job not in facts or facts[job][0] not in self.sharing.waiting.queues:
                self.roster.remove(job)
                continue
            replicas = [self._replica(names[pk], rows) for pk, rows in sorted(held[job].items()) if pk in names]
            self.roster.add(self._running(job, facts[job], tuple(replicas), saved.get(job)))

    def _running(
        self, job: int, facts: tuple[Any, ...], replicas: tuple[RunningReplica, ...], saved: ports.Checkpoint | None
    ) -> Running:
        queue, priority, preemptible, spared, least, placed_at, evicted_at, out_of_turn, minimums = facts
        least_run = read_duration(spared)
        return Running(
            key=job,
            queue=self.sharing.layout.leaf(queue),
            priority=priority,
            started_s=seconds(read_datetime(placed_at)),
            replicas=replicas,
            minimum=least,
            role_minimums=minimums,
            preemptible=bool(preemptible),
            preempt_min_runtime_s=int(least_run.total_seconds()) if least_run else 0,
            checkpoint_s=seconds(saved.at) if saved else None,
            restart_s=saved.restart_s if saved else 0,
            evicted_s=seconds(read_datetime(evicted_at)) if evicted_at else None,
            out_of_turn=bool(out_of_turn),
        )

    def _replica(self, name: tuple[str, int], rows: list[Held]) -> RunningReplica:
        total = NOTHING
        for row in rows:
            total = plus(total, self.mirror.holdings.amounts(row.hold))
        return RunningReplica(*name, total, tuple(row.hold for row in rows))


def seconds(at: datetime) -> int:
    return int(at.timestamp())


def _facts(jobs: Collection[int]) -> dict[int, tuple[Any, ...]]:
    """Two queries."""
    if not jobs:
        return {}
    here, keys = sql.among("j.id", list(jobs))
    of_roles, role_keys = sql.among("job_id", list(jobs))
    minimums: dict[int, list[tuple[str, int]]] = {}
    roles = f"SELECT job_id, name, min_replicas FROM scheduling_jobrole WHERE {of_roles} ORDER BY job_id, position"  # noqa: S608
    for job, name, least in sql.fetch(roles, *role_keys):
        minimums.setdefault(job, []).append((name, least))
    return {job: (*facts, tuple(minimums.get(job, ()))) for job, *facts in sql.fetch(_JOBS.format(here=here), *keys)}


_JOBS = (
    "SELECT j.id, j.queue_id, j.priority, j.preemptible, j.preempt_min_runtime, j.min_member, a.placed_at,"
    " (SELECT MAX(v.at) FROM scheduling_victim v WHERE v.job_id = j.id),"
    " EXISTS (SELECT 1 FROM scheduling_victim v WHERE v.job_id = j.id AND v.out_of_turn)"
    " FROM scheduling_job j JOIN scheduling_attempt a ON a.job_id = j.id AND a.number = j.attempt_count WHERE {here}"
)


def _names(replicas: Iterable[int]) -> dict[int, tuple[str, int]]:
    """Role and rank by replica. One query."""
    wanted = list(replicas)
    if not wanted:
        return {}
    here, keys = sql.among("r.id", wanted)
    return {
        pk: (role, rank)
        for pk, role, rank in sql.fetch(
            "SELECT r.id, o.name, r.rank FROM scheduling_replica r"  # noqa: S608
            f" JOIN scheduling_jobrole o ON o.id = r.role_id WHERE {here}",
            *keys,
        )
    }
