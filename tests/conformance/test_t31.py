"""T31: nodes 7/8, 6/8 and 7/8 used; a job of four GPUs waits although four are free: the plan says which moves, at
what cost and to what end, and carried out it lets the job in."""

from __future__ import annotations

from datetime import timedelta

import pytest

from console.common.actor import system
from console.tenants.queries import actor_for_user
from pool.scheduling.defrag import planner, queries
from pool.scheduling.models import DefragMove, DefragPlan, DefragRules, Job, JobState, Replica
from pool.scheduling.services.defrag import start_plan
from tests import factories
from tests.scheduling.sharing.world import World

pytestmark = pytest.mark.django_db


def used(world: World) -> list[int]:
    """Cards in use, node by node."""
    live = Replica.objects.filter(state__in=["assigned", "running", "stopping"]).values_list("node_id", flat=True)
    return [list(live).count(node.pk) for node in world.nodes]


def crowded() -> tuple[World, Job]:
    world = World(cards=24, nodes=3)
    DefragRules.objects.create(pk=1, rest_s=0, job_rest_s=0)
    owner = world.tenant("owner")
    world.submit(owner, 24)
    world.scheduler.sweep()
    world.run()
    for node, leaves in zip(world.nodes, (1, 2, 1), strict=True):
        for replica in Replica.objects.filter(node=node).order_by("pk")[:leaves]:
            world.finish(replica.job)
    assert used(world) == [7, 6, 7]
    world.now += timedelta(minutes=10)
    (large,) = world.submit(owner, gpus=4, preemptible=False)
    world.scheduler.sweep()
    assert Job.objects.get(pk=large.pk).state == JobState.QUEUED
    return world, large


def test_the_plan_tells_moves_cost_and_result() -> None:
    world, large = crowded()
    planner.work(world.now)
    operator = factories.make_user(role="operator")
    plan = queries.plan_for(actor_for_user(operator), DefragPlan.objects.get().public_id)
    (step,) = plan.steps.all()
    moves = list(step.moves.all())
    assert (step.job, len(moves), plan.moves) == (large, 2, 2)
    assert {move.source["node"] for move in moves} == {world.nodes[1].pk}
    assert {move.target["replicas"][0]["node_key"] for move in moves} == {world.nodes[0].pk, world.nodes[2].pk}
    assert [move.cost_s for move in moves] == [600, 600]
    assert (plan.cost_s, step.freed_bp) == (1200, 40_000)
    before, after = ({line["devices"]: line["fits"] for line in each["classes"]} for each in (plan.before, plan.after))
    assert before[4] == 0
    assert Job.objects.get(pk=large.pk).state == JobState.QUEUED  # shown, and nothing has moved
    assert not DefragMove.objects.exclude(state="planned").exists()
    assert after[1] == 0  # the four that were free are the job's place now


def test_carried_out_the_job_starts_and_nobody_is_lost() -> None:
    world, large = crowded()
    planner.work(world.now)
    start_plan(system("test"), DefragPlan.objects.get(), world.now)
    for _ in range(6):
        world.scheduler.mover._due = 0.0
        world.scheduler.sweep()
        world.run()
        world.stop()
        world.now += timedelta(seconds=10)
    assert Job.objects.get(pk=large.pk).state == JobState.RUNNING
    assert Job.objects.filter(state=JobState.RUNNING).count() == 21
    assert DefragPlan.objects.get().state == "done"
