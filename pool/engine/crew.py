"""A gang being placed inside one domain, on a scratch copy of the fleet."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pool.engine import neighbours
from pool.engine import state as s
from pool.engine.backtrack import search
from pool.engine.bulk import Slot, fill
from pool.engine.capacity import replicas_per_node
from pool.engine.domains import domains_of
from pool.engine.fleet import holds_of
from pool.engine.homes import home_of
from pool.engine.members import hardest_first, minimum, need
from pool.engine.packing import spread
from pool.engine.placing import chosen_columns, replica_of
from pool.engine.rooms import Rooms
from pool.engine.rows import best_row
from pool.engine.search_order import Place
from pool.engine.types import Policy, RoleRequest
from pool.engine.vectors import vector_for

Ints = NDArray[np.int64]


@dataclass(slots=True)
class Crew:
    """Fill it with :meth:`muster` or :meth:`seek`; ``slots`` by role then say who stands where."""

    rooms: Rooms
    policy: Policy
    place: Place
    slots: dict[str, list[Slot]] = field(default_factory=dict)
    homes: dict[str, tuple[int, Ints]] = field(default_factory=dict)

    def muster(self) -> RoleRequest | None:
        """Place all replicas, or the minimum and what fits beyond; the role that failed, if any."""
        fleet, job = self.rooms.fleet, self.rooms.job
        with fleet.scratch():
            self._close_other_islands()
            for role in hardest_first(fleet, job):
                wanted = role.replicas if self.place.whole else role.min_replicas
                if self._add(role, wanted) < wanted:
                    return role
            return None if self.place.whole else self._fill_up()

    def seek(self, trials: int) -> int:
        """Place unlike replicas by search, where one after another they stood in each other's way.
        Returns the trials left; ``slots`` stay empty if none of them led anywhere."""
        fleet, job = self.rooms.fleet, self.rooms.job
        with fleet.scratch():
            self._close_other_islands()
            within = np.zeros(len(fleet.nodes), dtype=bool)
            within[self.place.rows] = True
            found, left = search(fleet, job, minimum(fleet, job), self.policy, trials, within)
            for role, slot in found:
                self.slots.setdefault(role, []).append(slot)
            if found:
                self._fill_up()
        return left

    def _fill_up(self) -> RoleRequest | None:
        """More in the order of the roles: to the minimum of the gang first, then whatever fits."""
        job = self.rooms.job
        for role in job.roles:
            self._add(role, min(need(job) - self._count(), role.replicas - self._count(role)))
        if self._count() < need(job):
            return job.roles[0]
        for role in job.roles:
            self._add(role, role.replicas - self._count(role))
        return None

    def _count(self, role: RoleRequest | None = None) -> int:
        if role is None:
            return sum(map(len, self.slots.values()))
        return len(self.slots.get(role.name, ()))

    def _add(self, role: RoleRequest, count: int) -> int:
        """Place up to ``count`` more of a role; how many it were."""
        if count <= 0:
            return 0
        level, rows = self._home(role)
        careful = neighbours.concerned(self.rooms.fleet, self.rooms.job)
        slots = self._one_by_one(role, rows, count) if careful else self._at_once(role, level, rows, count)
        self.slots.setdefault(role.name, []).extend(slots)
        return len(slots)

    def _home(self, role: RoleRequest) -> tuple[int, Ints]:
        """The domain of a role that has a topology level of its own, else the gang's."""
        if not (role.required_topology_level or role.preferred_topology_level):
            return self.place.level, self.place.rows
        if role.name not in self.homes:
            self.homes[role.name] = home_of(self.rooms, role, self.place.level, self.place.rows)
        return self.homes[role.name]

    def _at_once(self, role: RoleRequest, level: int, rows: Ints, count: int) -> list[Slot]:
        fleet, vector = self.rooms.fleet, self.rooms.vectors[role.name]
        fleet.settle()
        room, order = replicas_per_node(fleet, vector.task, rows), vector.scores.key[rows]
        slots: list[Slot] = []
        while (batch := min(count - len(slots), int(room.sum()))) > 0:
            counts = spread(domains_of(fleet), level, rows, room, order, batch)
            placed = fill(fleet, vector.task, rows, counts)
            slots += placed
            if len(placed) == batch:
                break
            got = np.bincount([slot.row for slot in placed], minlength=len(fleet.nodes))[rows]
            room = np.where(got < counts, 0, room - counts)  # the room was a bound: now it is known
        return slots

    def _one_by_one(self, role: RoleRequest, rows: Ints, count: int) -> list[Slot]:
        """Each replica where its neighbours, those placed just now among them, let it stand."""
        fleet, job, slots = self.rooms.fleet, self.rooms.job, list[Slot]()
        within = np.zeros(len(fleet.nodes), dtype=bool)
        within[rows] = True
        repels = neighbours.repels_of(job)
        while len(slots) < count:
            vector = vector_for(fleet, role.request, job.tenant, job.trust_group, self.policy)
            row = best_row(fleet, job, vector, within)
            if row is None:
                break
            slot = Slot(row, tuple(chosen_columns(fleet, vector, row)), tuple(vector.scores.start[row].tolist()))
            replica = replica_of(fleet, vector.task, row, role.name, 0, slot.columns, slot.starts)
            for hold in holds_of((replica,), job.tenant, job.trust_group, job.labels, repels):
                fleet.take(hold)
            slots.append(slot)
        return slots

    def _close_other_islands(self) -> None:
        if self.place.columns is None:
            return
        row = int(self.place.rows[0])
        others = np.ones(self.rooms.fleet.state.device.shape[2], dtype=bool)
        others[list(self.place.columns)] = False
        self.rooms.fleet.state.device[s.OPEN, row, others] = 0
        self.rooms.fleet.touch((row,))
