"""T08: 10 GB + 30 GB on two cards go to cards that fit each, not to two of 30 GB."""

from __future__ import annotations

import pytest

from pool.engine import Fleet, NodeSpec, Placed, Refused, ReplicaRequest, decide
from pool.scheduling.models import Allocation
from pool.scheduling.services import submit_job
from tests import factories
from tests.conformance.passes import scheduler
from tests.conftest import Actors
from tests.engine import make


def unlike_node() -> NodeSpec:
    return make.node(1, make.card(100, "small", 16_384), make.card(101, "large", 40_960))


@pytest.mark.parametrize("share", [10_000, 2_500])
@pytest.mark.parametrize(("memory", "cards"), [((10_240, 30_720), [100, 101]), ((30_720, 10_240), [101, 100])])
def test_t08(share: int, memory: tuple[int, int], cards: list[int]) -> None:
    fleet = Fleet.build([unlike_node()])
    decision = decide(fleet, make.job(ReplicaRequest(2, share, memory_mib=memory)))
    assert isinstance(decision, Placed)
    assert [part.device_key for part in decision.replicas[0].devices] == cards
    if share < 10_000:
        assert [part.memory_mib for part in decision.replicas[0].devices] == list(memory)


def test_two_of_the_larger_do_not_fit() -> None:
    refused = decide(Fleet.build([unlike_node()]), make.job(ReplicaRequest(2, 2_500, memory_mib=(30_720, 30_720))))
    assert isinstance(refused, Refused)
    assert refused.never
    assert ("memory_mib", 16_384) in [(change.kind, change.after) for change in refused.changes]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "asked",
    [
        {"gpus": 2, "gpu_fraction": 0.25, "gpu_memory_mib": [10_240, 30_720]},
        {
            "devices": [
                {"gpu_fraction": 0.25, "gpu_memory_mib": 10_240},
                {"gpu_fraction": 0.25, "gpu_memory_mib": 30_720},
            ]
        },
    ],
)
def test_the_whole_product_gives_each_card_what_was_asked_of_it(actors: Actors, asked: dict[str, object]) -> None:
    node = factories.make_node(devices=1, model="T4")
    large = factories.make_model("A100-40GB")
    card = node.devices.create(index=1, uuid="GPU-large", model=large, memory_mib=large.memory_mib)
    job = submit_job(actors.member_a, {"name": "x", "command": ["true"], **asked})
    scheduler().sweep()
    held = dict(Allocation.objects.filter(job=job).values_list("device_id", "memory_mib"))
    assert held == {node.devices.get(index=0).pk: 10_240, card.pk: 30_720}
