"""Reads: who sees what, filters, counts, and a constant number of queries."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.common.actor import Actor, ActorKind
from console.common.errors import InvalidInput, NotFound
from pool.inventory import queries
from pool.inventory.filters import DeviceFilter, NodeFilter, device_filter, node_filter
from pool.inventory.models import Device, Node
from tests import factories
from tests.conftest import Actors
from tests.inventory.conftest import hold

pytestmark = pytest.mark.django_db
NOBODY = Actor(kind=ActorKind.USER, ident="user:none", label="nobody")


@pytest.fixture
def shared(actors: Actors) -> Device:
    """One card that both tenants hold a part of, on one of three nodes at two sites."""
    node = factories.make_node("n1", devices=2)
    factories.make_node("n2", devices=2, model="T4", rack="r02", reachable=False)
    factories.make_node("n3", devices=1, site=factories.make_site("cn-bj-2"), mig=True)
    card = node.devices.get(index=0)
    hold(node, card, actors.a, share_bp=2500)
    hold(node, card, actors.b, share_bp=1500)
    return card


def names(rows: object) -> list[str]:
    return [row.name for row in rows]  # type: ignore[attr-defined]


@pytest.mark.parametrize("who", ["operator", "auditor"])
def test_those_who_see_all_work_see_all_hardware(actors: Actors, shared: Device, who: str) -> None:
    actor = getattr(actors, who)
    assert names(queries.nodes_for(actor)) == ["n1", "n2", "n3"]
    assert queries.devices_for(actor).count() == 5
    assert names(queries.sites_for(actor)) == ["cn-bj-2", "cn-sz-1"]
    card = queries.device_for(actor, shared.public_id)
    assert (card.held_bp, card.held_mib) == (4000, 2000)
    assert queries.running_on_device(actor, shared).count() == 2
    assert queries.share_held(actor) == (4000, 50000)


@pytest.mark.parametrize("who", ["owner_a", "member_a", "viewer_a"])
def test_a_tenant_sees_only_where_it_holds_something_and_only_its_own(actors: Actors, shared: Device, who: str) -> None:
    actor = getattr(actors, who)
    assert names(queries.nodes_for(actor)) == ["n1"]
    card = queries.devices_for(actor).get()
    assert (card, card.held_bp, card.held_mib) == (shared, 2500, 1000)
    assert queries.node_for(actor, shared.node.public_id).held_bp == 2500
    site = queries.sites_for(actor).get()
    assert (site.name, site.node_count, site.device_count, site.held_bp) == ("cn-sz-1", 1, 1, 2500)
    assert [row.tenant for row in queries.running_on_device(actor, shared)] == [actors.a]
    assert [row.tenant for row in queries.running_on_node(actor, shared.node)] == [actors.a]
    assert queries.device_counts(actor)["all"] == 1
    assert queries.share_held(actor) == (2500, 10000)
    assert names(queries.models_for(actor)) == ["H100-80GB"]
    assert names(queries.domains_for(actor, shared.node.site, "rack")) == ["r01"]


def test_what_was_released_is_seen_no_more(actors: Actors, shared: Device) -> None:
    allocation = queries.running_on_device(actors.member_a, shared).get()
    type(allocation).objects.filter(pk=allocation.pk).update(released_at=allocation.created_at)
    assert not queries.nodes_for(actors.member_a).exists()
    with pytest.raises(NotFound):
        queries.device_for(actors.member_a, shared.public_id)


def test_nobody_and_money_roles_see_no_hardware(actors: Actors, shared: Device) -> None:
    for actor in (NOBODY, actors.finance):
        assert not queries.nodes_for(actor).exists()
        assert not queries.devices_for(actor).exists()
        assert not queries.sites_for(actor).exists()
        assert not queries.running_on_node(actor, shared.node).exists()
        assert queries.node_counts(actor)["all"] == 0


def test_another_tenants_row_is_as_if_it_were_not_there(actors: Actors, shared: Device) -> None:
    other = Node.objects.get(name="n2")
    card = other.devices.get(index=0)
    hold(other, card, actors.b)
    for look in (
        lambda: queries.node_for(actors.member_a, other.public_id),
        lambda: queries.device_for(actors.member_a, card.public_id),
        lambda: queries.site_for(actors.member_a, Node.objects.get(name="n3").site.public_id),
        lambda: queries.node_for(actors.member_a, "node_0"),
    ):
        with pytest.raises(NotFound, match="was not found"):
            look()


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({"site": "cn-bj-2"}, ["n3"]),
        ({"rack": "r02"}, ["n2"]),
        ({"model": "T4"}, ["n2"]),
        ({"state": "unreachable"}, ["n2"]),
        ({"state": "draining"}, []),
        ({"text": "N3"}, ["n3"]),
        ({"min_free_bp": "10000"}, ["n1", "n2", "n3"]),
        ({"site": "cn-sz-1", "model": "H100-80GB", "page": "7"}, ["n1"]),
    ],
)
def test_filters_of_nodes(actors: Actors, shared: Device, where: dict[str, str], found: list[str]) -> None:
    assert names(queries.nodes_for(actors.operator, node_filter(where))) == found


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ({"site": "cn-bj-2"}, 1),
        ({"mig": "on"}, 1),
        ({"mig": "off"}, 4),
        ({"min_free_bp": "6000"}, 5),
        ({"min_free_bp": "6001"}, 4),
        ({"state": "unreachable"}, 2),
        ({"state": "ready", "model": "T4"}, 2),
        ({"text": "GPU-n1-1"}, 1),
    ],
)
def test_filters_of_devices(actors: Actors, shared: Device, where: dict[str, str], count: int) -> None:
    assert queries.devices_for(actors.operator, device_filter(where)).count() == count


def test_what_is_free_is_no_question_of_a_tenant(actors: Actors, shared: Device) -> None:
    for share in (0, 5000, 10000):
        assert not queries.devices_for(actors.member_a, DeviceFilter(min_free_bp=share)).exists()
        assert not queries.nodes_for(actors.member_a, NodeFilter(min_free_bp=share)).exists()


@pytest.mark.parametrize(
    ("where", "field"),
    [
        ({"state": "lost"}, "state"),
        ({"mig": "1"}, "mig"),
        ({"min_free_bp": "10001"}, "min_free_bp"),
        ({"min_free_bp": "-1"}, "min_free_bp"),
        ({"min_free_bp": "²"}, "min_free_bp"),
        ({"text": "x" * 201}, "text"),
        ({"text": "a\0"}, "text"),
    ],
)
def test_bad_filters_name_the_field(where: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        device_filter(where)
    assert [error.field for error in caught.value.errors] == [field]


def test_counts_by_state(actors: Actors, shared: Device) -> None:
    assert queries.node_counts(actors.operator) == {
        **{"ready": 3, "cordoned": 0, "draining": 0},
        **{"unreachable": 1, "all": 3},
    }
    Device.objects.filter(pk=shared.pk).update(state="faulty")
    counts = queries.device_counts(actors.operator)
    assert (counts["faulty"], counts["ready"], counts["unreachable"], counts["all"]) == (1, 4, 2, 5)


@pytest.mark.parametrize("who", ["operator", "member_a"])
def test_two_rows_or_twenty_cost_the_same(actors: Actors, who: str) -> None:
    actor = getattr(actors, who)

    def count() -> int:
        with CaptureQueriesContext(connection) as caught:
            for node in queries.nodes_for(actor):
                _ = (node.site.name, node.rack.name, node.pod, node.switch, node.device_count, node.held_bp)
            for card in queries.devices_for(actor):
                _ = (card.node.site.name, card.node.rack.name, card.model.name, card.held_bp)
            for row in queries.running_on_node(actor, Node.objects.get(name="n0")):
                _ = (row.job.name, row.tenant.slug, row.replica.rank, row.device)
            for site in queries.sites_for(actor):
                _ = (site.node_count, site.device_count)
        return len(caught)

    def grow(first: int, last: int) -> None:
        for number in range(first, last):
            node = factories.make_node(f"n{number}", devices=2, site=factories.make_site(f"s{number}"))
            for card in node.devices.all():
                hold(node, card, actors.a)

    grow(0, 2)
    two = count()
    grow(2, 20)
    assert queries.nodes_for(actor).count() == 20
    assert count() == two == 5
