"""Gangs: all of the minimum or nothing, then more as long as it fits, in as small a domain as can be."""

from __future__ import annotations

from pool.engine.crew import Crew
from pool.engine.fleet import Fleet
from pool.engine.members import need
from pool.engine.placing import first_score, replica_of
from pool.engine.ranks import ranked
from pool.engine.rooms import Rooms, rooms_of
from pool.engine.search_order import Place, places
from pool.engine.surroundings import surroundings
from pool.engine.types import JobRequest, Placed, Policy, RoleRequest


def place_gang(fleet: Fleet, job: JobRequest, policy: Policy) -> Placed | RoleRequest:
    """A placement of the whole minimum, or the role that could not be filled."""
    rooms = rooms_of(fleet, job, policy)
    short = rooms.short_role()
    if short is not None:
        return short
    failed: RoleRequest | None = None
    tried: list[Place] = []
    for place in places(rooms, need(job)):
        crew = Crew(rooms, policy, place)
        failed = crew.muster()
        if failed is None:
            return _placed(crew)
        tried.append(place)
    return _sought(rooms, tried, policy) or failed or job.roles[0]


def _sought(rooms: Rooms, tried: list[Place], policy: Policy) -> Placed | None:
    """Unlike replicas can stand in each other's way: try other nodes for them before refusing."""
    if len({role.request for role in rooms.job.roles}) < 2:
        return None
    trials = policy.backtrack_limit
    for place in tried:
        crew = Crew(rooms, policy, place)
        trials = crew.seek(trials)
        if crew.slots:
            return _placed(crew)
        if trials <= 0:
            break
    return None


def _placed(crew: Crew) -> Placed:
    """The decision, replicas in the order of roles, and ranks along the topology."""
    rooms = crew.rooms
    fleet, job = rooms.fleet, rooms.job
    slots = {role.name: ranked(fleet, crew.slots.get(role.name, [])) for role in job.roles}
    replicas = tuple(
        replica_of(fleet, rooms.vectors[name].task, slot.row, name, rank, slot.columns, slot.starts)
        for name, mine in slots.items()
        for rank, slot in enumerate(mine)
    )
    first = replicas[0]
    score, runner_up, considered = first_score(fleet, rooms.vectors[first.role], fleet.row_of[first.node_key])
    return Placed(
        job.key,
        replicas,
        score,
        runner_up,
        considered,
        surroundings(rooms, crew.place, [slot for mine in slots.values() for slot in mine]),
    )
