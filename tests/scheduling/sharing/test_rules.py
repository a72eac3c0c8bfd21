"""How the pool is shared and what cards count: set by operators, obeyed from the next sweep on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from console.audit.models import AuditEntry
from console.common.errors import InvalidInput, NotAllowed
from pool.scheduling.models import Victim
from pool.scheduling.services import set_rules, set_weight
from pool.scheduling.sharing import queries
from tests import factories
from tests.api.conftest import api  # noqa: F401
from tests.conftest import Actors
from tests.scheduling.sharing.world import CARD, World

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("reclaim_to", "taken"), [("quota", 1), ("fair_share", 2)])
def test_t18_up_to_its_quota_or_its_fair_share_is_a_switch(actors: Actors, reclaim_to: str, taken: int) -> None:
    set_rules(actors.operator, {"reclaim_to": reclaim_to})
    world = World(cards=4)
    world.submit(actors.a, 4)
    world.settle()
    world.now += timedelta(minutes=10)
    actors.b.queues.update(quota_share_bp=CARD)
    actors.a.queues.update(quota_share_bp=CARD)
    world.submit(actors.b, 4)
    world.settle()
    assert (world.cards(actors.b), Victim.objects.count()) == (taken, taken)


def test_the_cool_down_is_a_setting(actors: Actors) -> None:
    set_rules(actors.operator, {"cooldown_s": 0})
    world = World(cards=1)
    world.submit(actors.a)
    world.settle()
    actors.b.queues.update(quota_share_bp=CARD)
    (job,) = world.submit(actors.b)
    world.settle()
    world.finish(job)
    world.settle()
    world.submit(actors.b)
    world.settle()
    assert Victim.objects.count() == 2


def test_a_heavier_card_counts_for_more(actors: Actors) -> None:
    """Two H100 weigh as much as eight T4: who holds the two is not the first whose turn it is."""
    factories.make_node(devices=8, model="T4")
    world = World(cards=2)
    set_weight(actors.operator, "H100-80GB", 400)
    world.submit(actors.a, 2, models=["H100-80GB"], preemptible=False)
    world.scheduler.sweep()
    assert world.scheduler.sharing.capacity()[0] == (2 * 400 + 8 * 100) * CARD
    assert world.scheduler.mirror.holdings.of(actors.a.queues.get().pk)[0] == 2 * CARD * 400
    world.submit(actors.a, 8, models=["T4"], preemptible=False)
    world.submit(actors.b, 8, models=["T4"], preemptible=False)
    world.scheduler.sweep()
    assert (world.cards(actors.a), world.cards(actors.b)) == (2, 8)


def test_each_change_is_audited_once(actors: Actors) -> None:
    factories.make_model("T4")
    for _ in range(2):
        set_rules(actors.operator, {"cooldown_s": 60})
        set_weight(actors.operator, "T4", 25)
    assert AuditEntry.objects.filter(action__startswith="sharing.").count() == 2
    set_weight(actors.operator, "T4", 100)
    assert queries.weights() == {}


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"reclaim_to": "all"}, "reclaim_to"), ({"cooldown_s": -1}, "cooldown_s"), ({"cooldown_s": True}, "cooldown_s")],
)
def test_wrong_rules_name_the_field(actors: Actors, changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        set_rules(actors.operator, changes)
    assert [error.field for error in caught.value.errors] == [field]


@pytest.mark.parametrize("value", [0, -1, True, "4", 10**7])
def test_wrong_weights_name_the_field(actors: Actors, value: object) -> None:
    factories.make_model("T4")
    with pytest.raises(InvalidInput, match="hundredths"):
        set_weight(actors.operator, "T4", value)
    with pytest.raises(InvalidInput, match="model"):
        set_weight(actors.operator, "T5", 100)


@pytest.mark.parametrize("who", ["owner_a", "member_a", "finance", "auditor"])
def test_nobody_but_operators(actors: Actors, who: str) -> None:
    with pytest.raises(NotAllowed):
        set_rules(getattr(actors, who), {"cooldown_s": 1})
    with pytest.raises(NotAllowed):
        set_weight(getattr(actors, who), "T4", 1)


def test_by_api(api: Any, actors: Actors) -> None:  # noqa: F811
    factories.make_model("T4")
    operator = api("operator")
    assert operator.post("sharing/rules", {"reclaim_to": "quota"}).json()["reclaim_to"] == "quota"
    assert operator.post("sharing/weights", {"model": "T4", "hundredths": 25}).json()["weights"] == {"T4": 25}
    assert api("owner_a").get("sharing/rules").json()["reclaim_to"] == "quota"
    assert api("owner_a").post("sharing/rules", {"cooldown_s": 1}).status_code == 403
