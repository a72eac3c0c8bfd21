"""Nodes and devices are listed by name, as a person counts: on the page, in the API and in what both export."""

import csv
import random
from itertools import pairwise

import pytest
from django.test import Client
from django.urls import reverse

from console.common.listing import Page, keyset
from pool.inventory import queries
from pool.inventory.naming import natural_key
from tests import factories
from tests.conftest import Actors

NAMES = ["a-1", "a-2", "A-10", "a-10-b", "b-007", "b-8", "gpu-2.rack-9", "gpu-2.rack-10", "gpu-11.rack-1", "节点-3"]


@pytest.fixture
def fleet(actors: Actors) -> Client:
    shuffled = list(NAMES)
    random.Random(7).shuffle(shuffled)
    for name in shuffled:
        factories.make_node(name, devices=2)
    client = Client()
    client.force_login(actors.users["operator"])
    return client


def lines(answer) -> list[dict[str, str]]:
    return list(csv.DictReader(b"".join(answer.streaming_content).decode("utf-8-sig").splitlines()))


def test_a_key_sorts_as_a_person_counts() -> None:
    assert sorted(random.Random(1).sample(NAMES, len(NAMES)), key=natural_key) == NAMES
    assert natural_key("n01") == natural_key("N1") != natural_key("n10")
    assert natural_key("") < natural_key("0") < natural_key("00" + "9" * 110)


def test_a_renamed_node_moves(db: None) -> None:
    node = factories.make_node("z")
    node.name = "a"
    node.save()
    node.refresh_from_db()
    assert node.name_key == natural_key("a")


def test_the_page_and_what_it_exports(fleet: Client) -> None:
    page = fleet.get(reverse("inventory:node_list")).context["page"]
    assert [node.name for node in page.rows] == NAMES
    exported = fleet.get(reverse("inventory:node_list"), {"format": "csv"})
    assert [line["Name"] for line in lines(exported)] == NAMES


def test_the_table_of_devices_and_what_it_exports(fleet: Client) -> None:
    cards = [(name, index) for name in NAMES for index in (0, 1)]
    page = fleet.get(reverse("web:heatmap_table")).context["page"]
    assert [(card.node.name, card.index) for card in page.rows] == cards
    exported = fleet.get(reverse("web:heatmap_table"), {"format": "csv"})
    assert [(line["Node"], int(line["GPU"])) for line in lines(exported)] == cards


def test_the_api_and_what_it_exports(fleet: Client) -> None:
    found, cursor = [], ""
    while cursor is not None:
        answer = fleet.get("/api/v1/nodes", {"limit": 3, "cursor": cursor}).json()
        found += [node["name"] for node in answer["results"]]
        cursor = answer["next"]
    assert found == NAMES
    assert [line["name"] for line in lines(fleet.get("/api/v1/nodes", {"format": "csv"}))] == NAMES
    cards = fleet.get("/api/v1/devices").json()["results"]
    assert [(card["node"], card["index"]) for card in cards] == [(name, index) for name in NAMES for index in (0, 1)]
    exported = lines(fleet.get("/api/v1/devices", {"format": "csv"}))
    assert [line["uuid"] for line in exported] == [card["uuid"] for card in cards]


@pytest.mark.parametrize("size", [1, 3, 7, 19, 20])
def test_every_card_once_forwards_and_back(fleet: Client, actors: Actors, size: int) -> None:
    # equal keys too: n1 and n01 are told apart by their numbers
    factories.make_node("b-7", devices=1)
    rows = queries.devices_for(actors.operator)
    wanted = [card.pk for card in rows]
    pages: list[Page] = [keyset(rows, "", size, queries.DEVICE_ORDER)]
    while pages[-1].after:
        pages.append(keyset(rows, pages[-1].after, size, queries.DEVICE_ORDER))
    assert [card.pk for page in pages for card in page.rows] == wanted
    for earlier, page in pairwise(pages):
        back = keyset(rows, page.before, size, queries.DEVICE_ORDER)
        assert [card.pk for card in back.rows] == [card.pk for card in earlier.rows]


def test_a_cursor_of_another_list_is_refused(fleet: Client) -> None:
    cursor = fleet.get("/api/v1/nodes", {"limit": 1}).json()["next"]
    answer = fleet.get("/api/v1/devices", {"cursor": cursor})
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == ["cursor"]
