"""Each kind of decision comes out of a replay the same, bit for bit; what is not all there is said."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from pool.scheduling import admission
from pool.scheduling.ledger import version
from pool.scheduling.ledger.rebuild import Lost, base_of, place_of, scene_at
from pool.scheduling.ledger.replay import Replay, replay
from pool.scheduling.models import Decision, LedgerBase, LedgerSegment, Preemption, Queue, Victim
from tests import factories
from tests.scheduling.sharing.world import World

pytestmark = pytest.mark.django_db


def all_same(world: World) -> list[Replay]:
    """Every decision there is, made again."""
    found = [replay(decision.public_id) for decision in Decision.objects.order_by("pk")]
    found += [replay(row.public_id) for row in Preemption.objects.order_by("pk")]
    assert [each.public_id for each in found if not each.same] == []
    return found


def test_placements_of_every_kind() -> None:
    world = World(cards=16, nodes=4)
    a, b = world.tenant("a"), world.tenant("b")
    world.submit(a, gpus=1)
    world.submit(a, gpus=1, gpu_fraction=0.3)
    world.submit(b, gpus=1, gpu_fraction=0.25, labels={"app": "x"}, anti_affinity=[near("x")])
    world.submit(a, gpus=2, replicas=2, min_replicas=1)
    world.submit(b, gpus=0, cpu_milli=2000)
    world.settle()
    for job in world.submit(a, 2):
        world.settle()
        world.finish(job)
    world.submit(b, gpus=1, labels={"app": "x"}, anti_affinity=[near("x")])
    world.settle()
    found = all_same(world)
    assert len(found) == 8
    assert all(each.same_engine for each in found)
    assert len(found[0].others) == 4  # every node that could have held it


def near(app: str) -> dict[str, Any]:
    return {"job_labels": [{"key": "app", "operator": "In", "values": [app]}], "level": "node"}


def test_the_pool_of_a_decision_is_the_one_it_saw() -> None:
    """Not only the outcome: the whole state, whatever came before it."""
    world = World(cards=8, nodes=2)
    a = world.tenant("a")
    first, second = world.submit(a), world.submit(a, gpus=1, gpu_fraction=0.5)
    world.settle()
    world.finish(first[0])
    world.settle()
    mark = world.scheduler.journal.mark()
    now = world.scheduler.mirror.fleet.snapshot_id
    world.submit(a)
    world.settle()
    assert Decision.objects.latest("pk").snapshot.partition(".")[0] == mark.partition(".")[0]
    pk, changes = place_of(mark)
    assert scene_at(base_of(pk), changes).fleet.snapshot_id == now
    assert second


def test_refusals_limits_and_bounds_of_the_tree() -> None:
    world = World(cards=4)
    parent, a = world.tenant("p", limit_share_bp=20_000), world.tenant("a", limit_running_jobs=1)
    top = Queue.objects.get(tenant=parent)
    below = Queue.objects.create(tenant=parent, name="below", parent=top)
    world.submit(parent, 3, queue=below.name)
    world.submit(a, 2)
    world.submit(a, gpus=4)
    world.submit(world.tenant("c"), gpus=4)
    world.settle()
    found = all_same(world)
    kinds = [sorted(decision.inputs) for decision in Decision.objects.filter(placed=False)]
    assert any("limits" in keys for keys in kinds)
    assert any("tree" in keys for keys in kinds)
    assert any("request" in keys for keys in kinds)
    assert len(found) >= 6


def test_preemption_and_the_start_it_made_room_for() -> None:
    world = World(cards=8)
    greedy, late = world.tenant("greedy"), world.tenant("late", quota_share_bp=40_000)
    world.submit(greedy, 8)
    world.settle()
    world.now += timedelta(minutes=10)
    world.submit(late, gpus=2)
    world.settle()
    world.submit(late, gpus=2)
    world.settle()
    assert (Preemption.objects.count(), Victim.objects.count()) == (2, 4)
    all_same(world)
    kept = [decision for decision in Decision.objects.filter(placed=True) if "preemption" in decision.inputs]
    assert [decision.inputs["order"] for decision in kept] == ["room", "room"]


def test_a_chain_goes_on_after_a_take_over_and_a_new_reading() -> None:
    world = World(cards=8, nodes=2)
    a = world.tenant("a")
    world.submit(a, 2)
    world.settle()
    world.new_scheduler()
    world.submit(a, 2)
    world.settle()
    world.scheduler.resync()
    world.submit(a, 2)
    world.settle()
    all_same(world)
    assert LedgerBase.objects.count() == 3


def test_nodes_that_come_change_and_go() -> None:
    world = World(cards=2)
    a = world.tenant("a")
    world.submit(a, 2)
    world.settle()
    node = factories.make_node(devices=4, cpu_milli=64_000)
    admission.shared.__init__()  # type: ignore[misc]
    world.submit(a, gpus=4)
    world.settle()
    node.devices.filter(index=0).update(state="cordoned")
    world.submit(a)
    world.settle()
    assert len(all_same(world)) >= 4


def test_who_decides_for_the_first_node() -> None:
    """The chain began before there was any node."""
    world = World(cards=0, nodes=1)
    for node in world.nodes:
        node.delete()
    world.new_scheduler()
    factories.make_node(devices=2)
    world.submit(world.tenant("a"))
    world.settle()
    all_same(world)


@pytest.fixture
def placed() -> Decision:
    world = World(cards=8, nodes=2)
    a = world.tenant("a")
    for _ in range(3):
        world.submit(a)
        world.settle()
    return Decision.objects.latest("pk")


def run(decision: Decision) -> tuple[int, str]:
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("replay_decision", decision.public_id, stdout=out, stderr=out)
    return int(str(ended.value.code)), out.getvalue()


def test_the_command_says_the_same(placed: Decision) -> None:
    code, text = run(placed)
    assert code == 0
    assert "the same, bit for bit" in text
    assert placed.digest in text


def test_another_outcome_is_told(placed: Decision) -> None:
    Decision.objects.filter(pk=placed.pk).update(digest="0" * 32)
    code, text = run(placed)
    assert (code, "IT DIFFERS" in text) == (1, True)


def test_another_version_of_the_engine_is_told(placed: Decision, monkeypatch: pytest.MonkeyPatch) -> None:
    LedgerBase.objects.update(engine="another")
    code, text = run(placed)
    assert code == 0
    assert f"another version replays it: {version.engine_version()}" in text


@pytest.mark.parametrize(
    ("harm", "code"),
    [
        (lambda: LedgerSegment.objects.filter(seq=1).delete(), "torn"),
        (lambda: LedgerSegment.objects.filter(seq=0).update(ops="[]"), "torn"),
        (lambda: LedgerBase.objects.update(content=b"x"), "torn"),
        (lambda: LedgerBase.objects.all().delete(), "pruned"),
        (lambda: Decision.objects.update(snapshot="7.81", digest=""), "before"),
    ],
)
def test_a_torn_or_pruned_chain_is_said_and_never_guessed(placed: Decision, harm: Any, code: str) -> None:
    harm()
    with pytest.raises(Lost) as lost:
        replay(placed.public_id)
    assert lost.value.code == code
    ended, text = run(placed)
    assert (ended, code in text) == (2, True)
