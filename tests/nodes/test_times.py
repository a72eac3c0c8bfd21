"""When things happened, as the bill needs it (billing 31 and 32): to the microsecond, and never after proof ends."""

from datetime import timedelta

import pytest

from console.common import clock
from pool.inventory.models import Node
from pool.nodes.models import Agent
from pool.nodes.services import News, StaleSession, apply_news
from tests.nodes.running import new_token, processes_of, wait_for
from tests.nodes.wire import Wire
from tests.nodes.work import interval_of, reaches, replica_of, state_of

HOUR = timedelta(hours=1)


def placed(calm, bench):
    wire = Wire(calm.address)
    wire.hello(devices=1, token=new_token())
    wire.report(devices=1)
    wait_for(Node.objects.filter(reachable=True).exists, "reachable")
    job = bench.run(["work"], gpu_fraction=1.0)
    start = wire.until("start")
    wire.send({"type": "ack", "command": start["command"], "ok": True, "detail": ""})
    return wire, job, start["replica"]


def news(kind, replica, received_at, age, **more):
    agent = Agent.objects.get()
    message = {"type": kind, "replica": replica, "age_us": age, "exit_code": 0, "detail": "", "cause": "exit"}
    return News(agent.node_id, agent.session, {**message, **more}, received_at, None)


def test_a_whole_hour_is_exactly_3600_seconds_however_late_it_is_heard_of(calm, bench):
    _, job, replica = placed(calm, bench)
    began = interval_of(job).started_at
    late = timedelta(seconds=17, microseconds=123_456)
    apply_news([news("started", replica, began + late, int(late / timedelta(microseconds=1)))])
    apply_news([news("exited", replica, began + HOUR + late, int(late / timedelta(microseconds=1)))])
    assert interval_of(job).ended_at - began == HOUR
    assert replica_of(job).started_at == began


def test_saying_it_again_changes_nothing(calm, bench):
    _, job, replica = placed(calm, bench)
    began = interval_of(job).started_at
    apply_news([news("exited", replica, began + HOUR, 0)])
    apply_news([news("exited", replica, began + 2 * HOUR, 0, exit_code=9)])
    apply_news([news("started", replica, began + 2 * HOUR, 0)])
    assert interval_of(job).ended_at - began == HOUR
    assert (replica_of(job).exit_code, replica_of(job).state) == (0, "succeeded")


@pytest.mark.parametrize("age", [0, 10**12, 2**53])
def test_no_age_makes_a_negative_length_or_an_end_in_the_future(calm, bench, age):
    _, job, replica = placed(calm, bench)
    began = interval_of(job).started_at
    apply_news([news("exited", replica, began + HOUR, age)])
    assert timedelta(0) <= interval_of(job).ended_at - began <= HOUR


def test_an_end_whose_time_nobody_knows_is_at_the_last_proof_of_life(calm, bench):
    _, job, replica = placed(calm, bench)
    began = interval_of(job).started_at
    item = news("exited", replica, began + HOUR, None, cause="lost")
    proof = began + timedelta(minutes=10)
    apply_news([News(item.node_id, item.session, item.message, item.received_at, proof)])
    assert interval_of(job).ended_at == proof
    assert replica_of(job).state == "lost"


def test_news_of_a_replica_is_a_sign_of_life_of_its_node(calm, bench):
    """Or what starts and is lost between two reports would end at its very beginning."""
    wire, job, replica = placed(calm, bench)
    wire.send({"type": "started", "replica": replica, "age_us": 0})
    reaches(job, "running")
    wire.close()
    wait_for(lambda: not Agent.objects.get().connected, "the end of the connection is known")
    assert Agent.objects.get().last_report_at >= replica_of(job).started_at > interval_of(job).started_at


def test_an_old_session_may_say_nothing(calm, bench):
    _, job, replica = placed(calm, bench)
    item = news("exited", replica, clock.now(), 0)
    Agent.objects.update(session=item.session + 1)
    with pytest.raises(StaleSession):
        apply_news([item])
    assert replica_of(job).ended_at is None


def test_the_clock_stops_at_the_last_proof_of_life_and_does_not_grow(hasty, bench, agents):
    """Billing 32: the node is gone for good; also what ran there has ended by itself by then (its lease)."""
    agent = agents(hasty.address)
    job = bench.shell("sleep 1000")
    reaches(job, "running")
    replica = replica_of(job).public_id
    agent.kill()
    wait_for(lambda: not Agent.objects.get().connected, "the end of the connection is known")
    proof = Agent.objects.get().last_report_at
    wait_for(lambda: replica_of(job).state == "lost", "the lease is over")
    assert processes_of(replica) == []  # the shim was quicker than the server
    interval = interval_of(job)
    assert abs((interval.ended_at - proof).total_seconds()) < 0.01
    waited = (interval.closed_at - proof).total_seconds()
    assert waited > hasty.options.lost_s
    assert Node.objects.get().reachable is False
    assert state_of(job) in {"queued", "failed"}


def test_a_short_cut_changes_nothing(gateway, bench, fleets):
    fleet = fleets(gateway.address, "nodes=1,devices=2,prefix=sim", 1)
    job = bench.run(["work"], environment={"WEIR_SIM_SECONDS": "600"})
    reaches(job, "running")
    before = Agent.objects.get().session
    fleet.order("cut", "sim-0000")
    wait_for(lambda: Agent.objects.get().session > before, "it is back")
    wait_for(lambda: Agent.objects.get().connected, "and connected")
    assert (state_of(job), replica_of(job).state) == ("running", "running")


def test_a_node_that_comes_back_after_its_work_was_given_away_has_to_end_it(calm):
    """The node kept its work against the rules (a wire that lies): it takes no new work until it has ended it."""
    wire = Wire(calm.address)
    answer = wire.hello(token=new_token(), replicas={"rep_from_before": 2})
    assert answer["type"] == "welcome"
    assert wire.until("stop")["replica"] == "rep_from_before"
    wire.report({"rep_from_before": 2})
    wire.until("stop")
    assert not Node.objects.get().reachable
    for seq in range(2, 4):
        wire.report({}, seq=seq)
    wait_for(lambda: Node.objects.get().reachable, "it is clean")
