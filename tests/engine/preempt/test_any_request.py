"""Minimal victims for every kind of request: fractions, slices, CPU alone, unlike roles, topology.

All that runs belongs to a queue without quota or weight, and the job that asks to one with quota
for everything: so exactly what helps may go, and the engine itself is the judge of what helps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pool.engine import Fleet, JobRequest, NodeSpec, Placed, Policy, ReplicaRequest, decide
from pool.engine.preempt import NoPlan, Plan, Rules
from pool.engine.preempt.plan import minimal
from pool.engine.preempt.units import Unit, units_of
from pool.engine.sharing import QueueSpec, Tree
from pool.engine.trying import try_place
from tests.engine import make
from tests.engine.preempt.world import World
from tests.engine.test_gang import gangs
from tests.reference.examples import examples

QUIET = Policy(explain=False, backtrack_limit=60)
SUPPRESSED = [HealthCheck.filter_too_much, HealthCheck.too_slow]
QUICK: Any = {"deadline": None, "derandomize": True, "suppress_health_check": SUPPRESSED}
MUCH = (10**9, 10**9, 10**9, 10**9)


def crowded(nodes: list[NodeSpec], work: list[ReplicaRequest], job: JobRequest) -> World:
    """As much of this work, again and again, as fits."""
    world = World(nodes, Tree([QueueSpec(1, weight=0), QueueSpec(2, quota=MUCH)], MUCH), Rules(cooldown_s=0))
    for key, request in enumerate(work * 6, start=1):
        running = make.job(request, 2, 1, tenant="t1", trust_group="g1")
        decision = decide(world.fleet, running, QUIET)
        if isinstance(decision, Placed):
            world.submit(key, 1, running)
            world.start(key, decision)
    world.submit(1_000, 2, job, priority=9)
    return world


def lift(fleet: Fleet, unit: Unit, away: bool) -> None:
    for replica in unit.replicas:
        for hold in replica.holds:
            if away:
                assert fleet.release(hold)
            else:
                fleet.take(hold)


def judge(world: World) -> Plan | NoPlan:
    fleet, found = world.fleet, world.plan(1_000)
    job = minimal(world.work[1_000].job)
    units = [unit for running in world.roster.jobs.values() for unit in units_of(running)]
    with fleet.scratch():
        if isinstance(found, Plan):
            lost = {victim.job_key: set(victim.replicas) for victim in found.victims}
            going = [u for u in units if {(r.role, r.rank) for r in u.replicas} <= lost.get(u.job.key, set())]
            assert sum(len(u.replicas) for u in going) == sum(map(len, lost.values()))
            for unit in going:
                lift(fleet, unit, away=True)
            assert fleet.apply(found.placed, job.tenant, job.trust_group)
            fleet.undo(found.placed, job.tenant, job.trust_group)
            cores = {unit.job.key for unit in going if not unit.surplus}
            for unit in going:
                if unit.surplus and unit.job.key in cores:
                    continue  # it goes with its core
                lift(fleet, unit, away=False)
                assert not isinstance(try_place(fleet, job, QUIET), Placed), (unit.name, found.victims)
                lift(fleet, unit, away=True)
        else:
            if found.reason != "fits":
                for unit in units:
                    lift(fleet, unit, away=True)
            assert isinstance(try_place(fleet, job, QUIET), Placed) == (found.reason == "fits")
    return found


def possible(nodes: list[NodeSpec], jobs: list[JobRequest]) -> list[JobRequest]:
    """Those that would fit if nothing ran."""
    return [job for job in jobs if isinstance(decide(Fleet.build(nodes), job, QUIET), Placed)]


@settings(max_examples=examples(40), **QUICK)
@given(
    nodes=make.fleets(),
    requests=st.lists(make.requests(), min_size=4, max_size=8),
    replicas=st.integers(1, 4),
    level=st.sampled_from(["", "", "node", "rack"]),
    stranger=st.booleans(),
)
def test_like_replicas(
    nodes: list[NodeSpec], requests: list[ReplicaRequest], replicas: int, level: str, stranger: bool
) -> None:
    named = [replace(node, rack=f"r{node.key % 2}", schedulable=True) for node in nodes]
    who = {"tenant": "t9", "trust_group": "g9"} if stranger else {"tenant": "t1", "trust_group": "g1"}
    jobs = [make.job(request, count, **who) for request in requests for count in range(replicas, 0, -1)]
    fitting = possible(named, [replace(job, required_topology_level=level) for job in jobs])
    assume(fitting)
    judge(crowded(named, [job.roles[0].request for job in fitting[::2]] or requests, fitting[-1]))


@settings(max_examples=examples(20), **QUICK)
@given(
    nodes=make.fleets(),
    requests=st.lists(make.requests(), min_size=4, max_size=6),
    jobs=st.lists(gangs(), min_size=6, max_size=6),
)
def test_unlike_roles(nodes: list[NodeSpec], requests: list[ReplicaRequest], jobs: list[JobRequest]) -> None:
    fitting = possible(nodes, [job for job in jobs if len(job.roles) > 1])
    assume(fitting)
    work = possible(nodes, [make.job(request) for request in requests])
    judge(crowded(nodes, [job.roles[0].request for job in work], fitting[0]))
