"""Web 7: a message is delivered again while the first run is still at work: exactly one start, one interval."""

from datetime import timedelta

import pytest

from console.common import clock, lease
from console.common.actor import system
from pool.scheduling import services, wake
from pool.scheduling.models import Interval, NodeCommand
from pool.scheduling.scheduler import Scheduler, lease_name
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def command():
    factories.make_node(devices=1)
    epoch = lease.acquire(lease_name(), "test", timedelta(seconds=60), clock.now())
    tenant = factories.make_tenant("once")
    spec = {"tenant": tenant.slug, "name": "x", "command": ["x"]}
    job = services.submit_job(system("test"), spec)
    scheduler = Scheduler(epoch)
    scheduler.react([job.pk], [])
    scheduler.react([job.pk], [])  # the wake-up was delivered twice
    return NodeCommand.objects.get()


def test_second_claim_gets_nothing_while_the_first_is_at_work(command):
    now = clock.now()
    first = services.claim_commands([command.node_id], "gateway-1", now)
    second = services.claim_commands([command.node_id], "gateway-2", now)
    assert [row.pk for row in first] == [command.pk]
    assert second == []


def test_claim_of_a_dead_gateway_runs_out_and_the_work_is_done_once(command):
    now = clock.now()
    services.claim_commands([command.node_id], "gateway-1", now)
    later = now + timedelta(seconds=11)
    again = services.claim_commands([command.node_id], "gateway-2", later)
    assert [row.sends for row in again] == [2]
    assert services.command_done(command.public_id, True, "", later)
    assert not services.command_done(command.public_id, True, "", later)
    assert services.claim_commands([command.node_id], "gateway-3", later + timedelta(seconds=60)) == []
    assert Interval.objects.count() == 1


def test_news_told_twice_counts_once(command):
    replica = command.replica
    now = clock.now()
    told = {"received_at": now, "age_us": 0, "exit_code": 0, "detail": "", "result": "succeeded"}
    assert services.replica_started(replica.public_id, received_at=now)
    assert not services.replica_started(replica.public_id, received_at=now)
    assert services.replica_ended(replica.public_id, **told)
    assert not services.replica_ended(replica.public_id, **{**told, "received_at": now + timedelta(hours=1)})
    assert Interval.objects.get().ended_at == now


def test_waking_twice_only_wakes_twice(command, live):
    subscriber = live.pubsub()
    subscriber.subscribe(wake.COMMANDS_CHANNEL)
    subscriber.get_message(timeout=60)
    for _ in range(2):
        wake._to_gateways(b"[%d]" % command.node_id)
    heard = [subscriber.get_message(timeout=60)["data"] for _ in range(2)]
    assert heard == [f"[{command.node_id}]".encode()] * 2
    command.refresh_from_db()
    assert command.state == "pending"
