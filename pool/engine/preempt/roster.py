"""All that runs, by queue, with its holds as a table that can be freed on arrays at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pool.engine.fleet import Fleet
from pool.engine.mig import mask
from pool.engine.preempt.types import Running
from pool.engine.preempt.units import Unit, units_of
from pool.engine.preempt.units import unprotected as over
from pool.engine.sharing.amounts import Amounts
from pool.engine.types import Hold

Ints = NDArray[np.int64]

# columns of a table of holds
UNIT: Final = 0  # number of the unit
ROW: Final = 1
COLUMN: Final = 2  # of the card; -1 for a node's CPU and memory
SHARE: Final = 3
MEMORY: Final = 4
SLICES: Final = 5  # bits
MEDIA: Final = 6
CPU: Final = 7
HOST: Final = 8
FIELDS: Final = 9


class Roster:
    """One thread owns it. The order in which jobs came in has no influence on what it tells."""

    def __init__(self, jobs: Iterable[Running] = ()) -> None:
        self.jobs: dict[int, Running] = {}
        self.units: dict[int, Unit] = {}
        self.numbers: dict[int, list[int]] = {}  # job -> units
        self.queues: dict[int, set[int]] = {}  # queue -> units
        self.version: dict[int, int] = {}  # of a queue, rises with every change
        self._next = 0
        self._over: dict[int, tuple[int, Amounts, list[int]]] = {}
        self._pending: list[int] = []
        self._dead = 0  # lines of the table whose unit has gone
        self._table: Ints = np.zeros((0, FIELDS), dtype=np.int64)
        self._made_for: tuple[Fleet, int] | None = None  # whose rows the table means
        for job in jobs:
            self.add(job)

    def add(self, job: Running) -> None:
        """Take in a job, in place of what was known of it (a checkpoint, fewer replicas)."""
        self.remove(job.key)
        self.jobs[job.key] = job
        for unit in units_of(job):
            self.units[self._next] = unit
            self.numbers.setdefault(job.key, []).append(self._next)
            self.queues.setdefault(job.queue, set()).add(self._next)
            self._pending.append(self._next)
            self._next += 1
        self._changed(job.queue)

    def remove(self, key: int) -> None:
        """Forget a job; one that is not known is no error."""
        job = self.jobs.pop(key, None)
        if job is None:
            return
        for number in self.numbers.pop(key, ()):
            self._dead += sum(len(replica.holds) for replica in self.units[number].replicas)
            del self.units[number]
            self.queues[job.queue].discard(number)
        self._changed(job.queue)

    def _changed(self, queue: int) -> None:
        self.version[queue] = self.version.get(queue, 0) + 1

    def of(self, queue: int) -> list[Unit]:
        """The pieces that run in a leaf queue."""
        return [self.units[number] for number in self.queues.get(queue, ())]

    def over(self, queue: int, entitlement: Amounts) -> list[int]:
        """Numbers of the pieces of a queue that its entitlement does not cover."""
        version = self.version.get(queue, 0)
        known = self._over.get(queue)
        if known is None or known[:2] != (version, entitlement):
            number_of = {self.units[number].name: number for number in self.queues.get(queue, ())}
            found = [number_of[unit.name] for unit in over(self.of(queue), entitlement)]
            known = self._over[queue] = (version, entitlement, found)
        return known[2]

    def core(self, job_key: int) -> int | None:
        """The number of a job's core."""
        return next((n for n in self.numbers.get(job_key, ()) if not self.units[n].surplus), None)

    def table(self, fleet: Fleet) -> Ints:
        """The holds of all units, one a line (see the columns); holds whose node has gone are left
        out. Some lines may be of units that have gone."""
        known = self._made_for
        same = known is not None and known[0] is fleet and known[1] == fleet.hardware
        if not same or self._dead > 10_000 + len(self._table) // 2:
            self._table = np.zeros((0, FIELDS), dtype=np.int64)
            self._pending, self._made_for, self._dead = sorted(self.units), (fleet, fleet.hardware), 0
        if self._pending:
            lines = [
                line
                for number in self._pending
                if number in self.units
                for replica in self.units[number].replicas
                for hold in replica.holds
                for line in _line(fleet, number, hold)
            ]
            more = np.array(lines, dtype=np.int64).reshape(len(lines), FIELDS)
            self._table = np.concatenate((self._table, more))
            self._pending = []
        return self._table


def _line(fleet: Fleet, number: int, hold: Hold) -> list[tuple[int, ...]]:
    row = fleet.row_of.get(hold.node_key)
    if row is None:
        return []
    if hold.device_key is None:
        return [(number, row, -1, 0, 0, 0, 0, hold.cpu_milli, hold.host_memory_mib)]
    place = fleet.place_of.get(hold.device_key)
    if place is None or place[0] != hold.node_key:
        return []
    cut = hold.isolation == "mig" and fleet.nodes[row].devices[place[1]].mig_enabled
    slices = mask(hold.mig_start, hold.mig_size) if cut else 0
    media = int(cut and "+me" in hold.mig_profile)
    line = (number, row, place[1], hold.share_bp, hold.memory_mib, slices, media)
    return [(*line, hold.cpu_milli, hold.host_memory_mib)]
