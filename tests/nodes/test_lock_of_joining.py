"""Letting nodes in holds the database's lock for their writes only: what can be known before is read before."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.common import clock
from console.common.actor import system
from console.common.errors import InvalidInput
from pool.inventory.models import Device, Node
from pool.nodes.gateway import doors
from pool.nodes.models import Agent, JoinToken
from pool.nodes.services import Knock, Refusal, create_join_token, open_sessions
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)
STATEMENTS = 40  # in a batch's transaction, however many nodes are in it


@pytest.fixture
def token(transactional_db: None) -> str:
    return create_join_token(system("test"), factories.make_site(), uses=50)[1]


def knock(name: str, token: str = "", credential: str = "", cards: int = 8, **more: Any) -> Knock:
    devices = [
        {"index": index, "uuid": f"GPU-{name}-{index}", "model": "H100-80GB", "memory_mib": 81559}
        for index in range(cards)
    ]
    node = {"name": name, "cpu_milli": 128_000, "memory_mib": 2**20, "labels": {}, "devices": devices, **more}
    hello = {"node": node, "token": token, "credential": credential, "site": "", "agent": "1", "driver": "simulated"}
    return Knock(hello, "10.0.0.1")


def let_in(knocks: list[Knock]) -> tuple[list[str], list[str], dict[str, str]]:
    """What was asked before the transaction and within it, and the credentials by node."""
    with CaptureQueriesContext(connection) as caught:
        sessions = open_sessions(knocks, clock.now(), 20.0)
    asked = [query["sql"] for query in caught]
    begin = next(place for place, sql in enumerate(asked) if sql.startswith("BEGIN"))
    return asked[:begin], asked[begin:], {session.name: session.credential or "" for session in sessions}


def reads_of_hardware(asked: list[str]) -> list[str]:
    return [
        sql for sql in asked if sql.startswith("SELECT") and '"inventory_device"."uuid"' in sql.partition(" FROM ")[0]
    ]


def test_hardware_is_read_before_the_lock_is_taken(token: str) -> None:
    names = [f"n{number}" for number in range(4)]
    before, held, credentials = let_in([knock(name, token) for name in names])
    assert reads_of_hardware(before)
    assert not reads_of_hardware(held)
    before, held, _ = let_in([knock(name, credential=credentials[name]) for name in names])
    assert reads_of_hardware(before)
    assert not reads_of_hardware(held)
    assert Device.objects.count() == 32


def test_a_batch_is_small_and_its_statements_do_not_grow_with_it(token: str) -> None:
    assert doors.BATCH <= 4
    let_in([knock("first", token)])  # model and site are known from here on
    _, one, _ = let_in([knock("n0", token)])
    _, four, _ = let_in([knock(f"n{number}", token) for number in range(1, 5)])
    grown = len([sql for sql in four if not sql.startswith("INSERT")]) - len(
        [s for s in one if not s.startswith("INSERT")]
    )
    assert grown <= 0
    assert len(four) <= STATEMENTS


def test_what_changed_is_decided_while_it_is_locked(token: str) -> None:
    """A card that work took a moment ago is not exchanged under it."""
    _, _, credentials = let_in([knock("n1", token)])
    node = Node.objects.get()
    Device.objects.filter(node=node, index=0).update(uuid="GPU-old", live_shared=1)
    _, held, _ = let_in([knock("n1", credential=credentials["n1"])])
    assert reads_of_hardware(held)
    card = Device.objects.get(node=node, index=0)
    assert (card.uuid, card.state) == ("GPU-old", "faulty")


def test_none_is_let_in_where_one_is_not(token: str) -> None:
    with pytest.raises(Refusal, match="unknown or revoked"):
        let_in([knock("n1", token), knock("n2", "weirj_guess")])
    with pytest.raises(InvalidInput):
        let_in([knock("n1", token), knock("n2", token, cpu_milli=-1)])
    JoinToken.objects.update(uses_left=1)
    with pytest.raises(Refusal, match="used up"):
        let_in([knock("n1", token), knock("n2", token)])
    assert (Node.objects.count(), Agent.objects.count(), JoinToken.objects.get().uses_left) == (0, 0, 1)
    let_in([knock("n1", token)])
    assert JoinToken.objects.get().uses_left == 0


def test_a_node_that_comes_by_token_again_has_one_agent(token: str) -> None:
    _, _, first = let_in([knock("n1", token)])
    Agent.objects.update(connected=False)
    _, _, second = let_in([knock("n1", token), knock("n2", token)])
    assert first["n1"] != second["n1"]
    assert Agent.objects.count() == 2
    assert set(Agent.objects.values_list("version", "driver", "connected")) == {("1", "simulated", True)}
