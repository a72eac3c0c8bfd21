"""A card in MIG mode gives slices and nothing else; a card out of it gives everything but slices."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pool.engine import (
    DeviceSpec,
    Fleet,
    Hold,
    Placed,
    Refused,
    ReplicaRequest,
    TypicalMix,
    decide,
    fragmentation,
    never_fits,
)
from pool.engine.holds import Oversold
from tests.engine import make

WHOLE = ReplicaRequest(1)
SOFT = ReplicaRequest(1, 2_500)
SLICE = ReplicaRequest(1, mig_profile="1g.5gb")


def off(key: int) -> DeviceSpec:
    """An A100 that could be cut, but is not in MIG mode."""
    return replace(make.a100(key), mig_enabled=False)


def hold(device: int, how: str, node: int = 1) -> Hold:
    if how == "mig":
        return Hold(device, node, 1_428, 4_864, "mig", "1g.5gb+me", 0, 1, "t1", "g1", 0, 0)
    share = 10_000 if how == "exclusive" else 2_500
    return Hold(device, node, share, 40_960 * share // 10_000, how, "", -1, 0, "t1", "g1", 0, 0)


def counts(fleet: Fleet, request: ReplicaRequest) -> dict[str, int]:
    refused = decide(fleet, make.job(request))
    assert isinstance(refused, Refused)
    return {count.filter: count.devices for count in refused.failed}


@pytest.mark.parametrize("request_", [WHOLE, SOFT, ReplicaRequest(1, 2_500, isolation="vgpu"), ReplicaRequest(2)])
def test_whole_cards_and_soft_shares_keep_off_cards_in_mig_mode(request_: ReplicaRequest) -> None:
    """Idle or cut: a process on such a card would see no device at all."""
    fleet = Fleet.build([make.node(1, make.a100(100), make.a100(101))], [hold(101, "mig")])
    assert counts(fleet, request_) == {"mig_mode": 2}
    never = never_fits(fleet, make.job(request_))
    assert never is not None
    assert never.never


@pytest.mark.parametrize("request_", [WHOLE, SOFT])
def test_they_take_the_card_beside_them(request_: ReplicaRequest) -> None:
    fleet = Fleet.build([make.node(1, make.a100(100)), make.node(2, off(200))])
    placed = decide(fleet, make.job(request_))
    assert isinstance(placed, Placed)
    assert (placed.replicas[0].devices[0].device_key, placed.considered) == (200, 1)


def test_slices_keep_off_cards_out_of_mig_mode() -> None:
    """Only its mode stands between the first card and a slice; the second could never be cut."""
    fleet = Fleet.build([make.node(1, off(100), make.card(101))])
    assert counts(fleet, SLICE) == {"mig_mode": 1, "isolation": 1}


def test_a_card_in_mig_mode_of_a_model_without_a_table_takes_nothing() -> None:
    fleet = Fleet.build([make.node(1, make.card(100, "X", mig_family="unheard-of", mig_enabled=True))])
    assert counts(fleet, WHOLE) == counts(fleet, SOFT) == {"mig_mode": 1}
    assert counts(fleet, SLICE) == {"isolation": 1}


@pytest.mark.parametrize("how", ["exclusive", "vgpu", "mig"])
def test_nothing_is_held_in_the_wrong_mode(how: str) -> None:
    card = off(100) if how == "mig" else make.a100(100)
    fleet = Fleet.build([make.node(1, card)])
    before = fleet.snapshot_id
    with pytest.raises(Oversold, match="MIG mode"):
        fleet.take(hold(100, how))
    assert fleet.snapshot_id == before


@pytest.mark.parametrize("how", ["exclusive", "vgpu", "mig"])
def test_a_hold_from_before_closes_the_card_until_it_is_gone(how: str) -> None:
    """Facts are taken in even where they contradict: what ran before the rule may end in peace."""
    card, mine = (off(100), WHOLE) if how == "mig" else (make.a100(100), SLICE)
    old = hold(100, how)
    fleet = Fleet.build([make.node(1, card)], [old])
    empty = Fleet.build([make.node(1, card)]).snapshot_id
    for request in (WHOLE, SOFT, SLICE):
        assert isinstance(decide(fleet, make.job(request)), Refused)
    assert fleet.release(old)
    assert fleet.snapshot_id == empty
    assert isinstance(decide(fleet, make.job(mine)), Placed)


def test_a_card_whose_mode_is_switched_serves_the_other_kind_at_once() -> None:
    fleet = Fleet.build([make.node(1, make.a100(100))])
    assert counts(fleet, WHOLE) == {"mig_mode": 1}
    fleet.replace_node(make.node(1, off(100)))
    assert isinstance(decide(fleet, make.job(WHOLE)), Placed)
    assert counts(fleet, SLICE) == {"mig_mode": 1}


def test_free_cards_in_mig_mode_are_of_no_use_to_whole_card_work() -> None:
    wholes, slices = (TypicalMix.observe([(request, 1.0)]) for request in (WHOLE, SLICE))
    fleet = Fleet.build([make.node(1, make.a100(100), off(101))])
    assert fragmentation(fleet, wholes) == pytest.approx(0.5)
    assert fragmentation(fleet, slices) == pytest.approx(0.5, abs=0.001)


def test_of_equal_cards_the_one_that_is_cut_already_is_cut_further() -> None:
    larger = ReplicaRequest(1, mig_profile="2g.10gb")
    fleet = Fleet.build([make.node(1, make.a100(100), make.a100(101))], [hold(101, "mig")])
    for request in (SLICE, larger):
        placed = decide(fleet, make.job(request))
        assert isinstance(placed, Placed)
        assert placed.replicas[0].devices[0].device_key == 101
