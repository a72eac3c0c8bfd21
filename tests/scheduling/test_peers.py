"""Members of a gang are told of each other when they are started; a command does not grow with the gang."""

from datetime import timedelta

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.common import clock
from pool.inventory.models import Node
from pool.scheduling import services
from pool.scheduling.models import NodeCommand
from pool.scheduling.services import peers
from tests import factories
from tests.nodes.work import Bench

pytestmark = pytest.mark.django_db


def place(replicas: int) -> None:
    for number in range(2):
        factories.make_node(f"n{number}", devices=16, labels={"address": "10.0.0.7"} if number else {})
    Bench().run(["x"], gpu_fraction=1, replicas=replicas)


def claim(later_s: int = 0) -> list[NodeCommand]:
    now = clock.now() + timedelta(seconds=later_s)
    return services.claim_commands([node.pk for node in Node.objects.all()], f"gateway-{later_s}", now)


def test_each_is_told_of_all_where_they_are_reached(db: None) -> None:
    place(17)
    commands = claim()
    addresses = {"n0": "n0", "n1": "10.0.0.7"}
    wanted = [
        {"rank": command.payload["rank"], "node": name, "address": addresses[name]}
        for command in commands
        for name in [Node.objects.get(pk=command.node_id).name]
    ]
    assert len(commands) == 17
    assert {each["node"] for each in wanted} == {"n0", "n1"}
    assert all(command.payload["peers"] == wanted for command in commands)
    again = claim(60)  # it was not confirmed
    assert [command.payload for command in again] == [command.payload for command in commands]


@pytest.mark.parametrize("replicas", [2, 20])
def test_a_stored_command_does_not_grow_with_the_gang(db: None, replicas: int) -> None:
    place(replicas)
    claim()
    stored = NodeCommand.objects.values_list("payload", flat=True)
    assert len(stored) == replicas
    assert all(len(orjson.dumps(payload)) < 600 for payload in stored)


def test_a_very_large_gang_is_told_of_its_first_member_only(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "MOST_PEERS", 4)
    place(5)
    assert [[peer["rank"] for peer in command.payload["peers"]] for command in claim()] == [[0]] * 5


@pytest.mark.parametrize(("replicas", "queries"), [(1, 1), (2, 2), (20, 2)])
def test_it_costs_one_query_for_gangs_and_none_for_others(db: None, replicas: int, queries: int) -> None:
    place(replicas)
    with CaptureQueriesContext(connection) as caught:
        nodes = [node.pk for node in Node.objects.all()]
        before = len(caught)
        commands = services.claim_commands(nodes, "gateway", clock.now())
    assert len(commands) == replicas
    assert len(caught) - before == queries
