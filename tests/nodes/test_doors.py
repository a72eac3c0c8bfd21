"""Who is let in, and that a node speaks for itself only."""

import contextlib
from datetime import timedelta

import pytest

from console.audit.models import AuditEntry
from console.common.actor import system
from console.common.errors import InvalidInput, NotAllowed
from pool.inventory.models import Device, Node
from pool.nodes.models import Agent, JoinToken
from pool.nodes.services import create_join_token, revoke_join_token
from tests import factories
from tests.nodes.running import new_token, wait_for
from tests.nodes.wire import RUNNING, Wire
from tests.nodes.work import reaches, replica_of, state_of


def join(calm, node="wire-1", **more):
    wire = Wire(calm.address)
    answer = wire.hello(node, token=new_token(), **more)
    assert answer["type"] == "welcome", answer
    return wire, answer


def refusal(calm, **hello):
    answer = Wire(calm.address).hello(**hello)
    assert answer["type"] == "refused", answer
    return answer["code"]


def test_a_token_makes_the_node_and_gives_a_credential_once(calm):
    wire, answer = join(calm, devices=4)
    node = Node.objects.get(name="wire-1")
    assert Device.objects.filter(node=node).count() == 4
    assert answer["credential"].startswith("weira_")
    assert answer["credential"] not in str(Agent.objects.values_list())
    assert AuditEntry.objects.filter(action="node.join", object_id=node.public_id).count() == 1
    wire.close()
    again = Wire(calm.address).hello(devices=4, credential=answer["credential"])
    assert (again["type"], again["credential"]) == ("welcome", None)
    assert again["session"] > answer["session"]


def test_bad_tokens_are_refused_and_leave_nothing(calm):
    site = factories.make_site()
    used_up = new_token(uses=1)
    join_with = Wire(calm.address)
    assert join_with.hello("first", token=used_up)["type"] == "welcome"
    row, revoked = create_join_token(system("test"), site)
    revoke_join_token(system("test"), row)
    row, expired = create_join_token(system("test"), site)
    JoinToken.objects.filter(pk=row.pk).update(expires_at=row.created_at - timedelta(seconds=1))
    assert refusal(calm, token=used_up, node="second") == "token_used_up"
    assert refusal(calm, token=revoked, node="second") == "bad_token"
    assert refusal(calm, token=expired, node="second") == "token_expired"
    assert refusal(calm, token="weirj_guess", node="second") == "bad_token"
    assert refusal(calm, node="second") == "no_credential"
    assert refusal(calm, token=new_token(name_prefix="gpu-"), node="second") == "wrong_name"
    assert refusal(calm, token=new_token(), node="second", site="elsewhere") == "wrong_site"
    assert not Node.objects.filter(name="second").exists()


def test_a_credential_is_good_for_its_own_node_only(calm):
    _, mine = join(calm, "wire-a")
    _, other = join(calm, "wire-b")
    assert refusal(calm, node="wire-b", credential=mine["credential"]) == "bad_credential"
    assert refusal(calm, node="wire-c", credential=mine["credential"]) == "bad_credential"
    assert other["session"] == Agent.objects.get(node__name="wire-b").session


def test_a_token_cannot_take_the_place_of_a_node_that_lives(calm):
    wire, _ = join(calm)
    assert refusal(calm, token=new_token()) == "node_in_use"
    wire.close()


def test_a_use_of_the_token_is_not_spent_on_a_node_that_is_refused(calm):
    token = new_token(uses=1)
    answer = Wire(calm.address).hello("bad name with spaces", token=token)
    assert (answer["type"], answer["code"]) == ("refused", "invalid")
    assert JoinToken.objects.get().uses_left == 1


def test_only_an_operator_makes_tokens(actors):
    site = factories.make_site()
    for actor in (actors.owner_a, actors.finance, actors.auditor):
        with pytest.raises(NotAllowed):
            create_join_token(actor, site)
    with pytest.raises(InvalidInput, match="uses"):
        create_join_token(actors.operator, site, uses=0)
    with pytest.raises(InvalidInput, match="valid"):
        create_join_token(actors.operator, site, valid=timedelta(days=400))
    row, text = create_join_token(actors.operator, site)
    assert text not in str(list(JoinToken.objects.values()))
    assert AuditEntry.objects.get(action="join_token.create").object_id == row.public_id


def test_a_node_may_not_speak_of_another_nodes_work(calm, bench):
    a, _ = join(calm, "wire-a", devices=1)
    a.report(devices=1)
    wait_for(Node.objects.filter(name="wire-a", reachable=True).exists, "wire-a reachable")
    job = bench.run(["work"], gpu_fraction=1.0)
    start = a.until("start")
    b, _ = join(calm, "wire-b", devices=1)
    b.exited(start["replica"])
    assert b.is_hung_up()
    c, _ = join(calm, "wire-c", devices=1)
    c.send({"type": "ack", "command": start["command"], "ok": True, "detail": ""})
    assert c.is_hung_up()
    assert (state_of(job), replica_of(job).state) == ("starting", "assigned")
    a.send({"type": "started", "replica": start["replica"], "age_us": 0})
    reaches(job, "running")


def test_news_of_an_older_connection_are_refused(calm, bench):
    old, welcome = join(calm, devices=1)
    old.report(devices=1)
    wait_for(Node.objects.filter(name="wire-1", reachable=True).exists, "reachable")
    job = bench.run(["work"], gpu_fraction=1.0)
    replica = old.until("start")["replica"]
    new = Wire(calm.address)
    new.hello(devices=1, credential=welcome["credential"], replicas={replica: RUNNING})
    assert old.is_hung_up()
    with contextlib.suppress(ConnectionError):
        old.exited(replica)
    new.send({"type": "started", "replica": replica, "age_us": 0})
    reaches(job, "running")
    assert replica_of(job).ended_at is None
