"""T23: two gangs of 100 pods on 100 nodes: one runs whole, one waits whole, never 50 and 50."""

from __future__ import annotations

from datetime import timedelta

import pytest

from console.common import clock, lease
from console.common.actor import system
from pool.engine import Fleet, JobRequest, Placed, Refused, ReplicaRequest, RoleRequest, decide
from pool.inventory.models import Node
from pool.scheduling import services
from pool.scheduling.models import Allocation, Job, NodeCommand, Replica
from pool.scheduling.scheduler import Scheduler, lease_name
from tests import factories
from tests.engine import make


def test_t23() -> None:
    fleet = Fleet.build(make.nodes(100, 1))
    pod = ReplicaRequest(1, cpu_milli=1_000)
    first = decide(fleet, make.job(pod, replicas=100, key=1))
    assert isinstance(first, Placed)
    assert len({replica.node_key for replica in first.replicas}) == 100
    assert sorted(replica.rank for replica in first.replicas) == list(range(100))
    fleet.apply(first, "t1", "g1")
    before = fleet.snapshot_id
    second = decide(fleet, make.job(pod, replicas=100, key=2))
    assert isinstance(second, Refused)
    assert not second.never
    assert fleet.snapshot_id == before


def test_after_half_is_taken_a_gang_of_100_takes_nothing() -> None:
    fleet = Fleet.build(make.nodes(100, 1))
    half = decide(fleet, make.job(ReplicaRequest(1), replicas=50))
    assert isinstance(half, Placed)
    fleet.apply(half, "t1", "g1")
    refused = decide(fleet, make.job(ReplicaRequest(1), replicas=100))
    assert isinstance(refused, Refused)
    assert [(f.filter, f.devices) for f in refused.failed] == [("share", 50), ("gang", 50)]
    assert [(c.kind, c.after) for c in refused.changes if c.kind == "min_member"] == [("min_member", 50)]


def test_a_lost_node_leaves_no_part_of_the_gang_to_place() -> None:
    """After a drain the gang is decided anew: whole on 99 nodes if its minimum allows, or not at all."""
    fleet = Fleet.build(make.nodes(100, 1))
    fleet.remove_node(7)
    assert isinstance(decide(fleet, make.job(ReplicaRequest(1), replicas=100)), Refused)
    elastic = decide(fleet, make.job(ReplicaRequest(1), replicas=100, least=99))
    assert isinstance(elastic, Placed)
    assert len(elastic.replicas) == 99


def test_two_roles_that_would_each_fit_alone_but_not_together_take_nothing() -> None:
    fleet = Fleet.build(make.nodes(100, 1))
    roles = (RoleRequest("a", ReplicaRequest(1), 60, 60), RoleRequest("b", ReplicaRequest(1), 60, 60))
    before = fleet.snapshot_id
    assert isinstance(decide(fleet, JobRequest(1, "t1", "g1", roles, 120)), Refused)
    assert fleet.snapshot_id == before


@pytest.mark.django_db
def test_a_running_gang_that_loses_a_node_is_stopped_whole_and_waits_whole() -> None:
    """No stranded part: the members that live are stopped, nothing is held, and the whole gang waits for two nodes."""
    nodes = [factories.make_node(devices=1) for _ in range(2)]
    tenant = factories.make_tenant("aurora")
    epoch = lease.acquire(lease_name(), "test", timedelta(minutes=5), clock.now())
    assert epoch is not None
    spec = {"tenant": tenant.slug, "name": "gang", "command": ["x"], "gpus": 1, "replicas": 2}
    job = services.submit_job(system("test"), spec)
    scheduler = Scheduler(epoch)
    scheduler.sweep()
    now = clock.now()
    for replica in Replica.objects.filter(job=job):
        services.replica_started(replica.public_id, received_at=now)
    Node.objects.filter(pk=nodes[0].pk).update(reachable=False)
    services.replicas_lost(nodes[0].pk, last_proof_at=now, now=clock.now(), reason="power cut")
    scheduler.sweep()
    survivor = Replica.objects.get(job=job, node=nodes[1])
    assert NodeCommand.objects.filter(replica=survivor, kind="stop").exists()
    ended = {"received_at": clock.now(), "age_us": 0, "exit_code": None, "detail": "", "result": "stopped"}
    services.replica_ended(survivor.public_id, **ended)
    scheduler.sweep()
    assert Job.objects.get(pk=job.pk).state == "queued"
    assert not Allocation.objects.filter(released_at=None).exists()
    Node.objects.filter(pk=nodes[0].pk).update(reachable=True)
    scheduler.sweep()
    assert Job.objects.get(pk=job.pk).state == "starting"
    assert Allocation.objects.filter(released_at=None, device__isnull=False).count() == 2
