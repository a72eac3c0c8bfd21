"""T42: tenants who do not trust each other never share a card by time slice; MIG or whole cards only.

The fault: the flag that promised it did nothing, and shares of strangers met on one card. Here at the engine's level:
what it places, what it holds and what it refuses, for every way of filling a card.
"""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pool.engine import Fleet, Hold, Oversold, Placed, Policy, Refused, ReplicaRequest, decide
from tests.engine import make
from tests.reference.examples import examples

QUIET = Policy(explain=False)
TENANTS = {"ann": "", "bob": "", "cyd": "lab", "dan": "lab"}  # ann and bob trust nobody, cyd and dan each other


def who(tenant: str, group: str) -> str:
    return group or tenant


def place(fleet: Fleet, tenant: str, request: ReplicaRequest, replicas: int = 1) -> Placed | Refused:
    job = make.job(request, replicas, tenant=tenant, trust_group=TENANTS[tenant])
    decision = decide(fleet, job)
    if isinstance(decision, Placed):
        fleet.apply(decision, tenant, TENANTS[tenant])
    return decision


@pytest.mark.parametrize(("first", "second"), list(permutations(TENANTS, 2)))
def test_a_half_free_card_is_no_place_for_a_stranger(first: str, second: str) -> None:
    fleet = Fleet.build(make.nodes(1, 1))
    assert isinstance(place(fleet, first, ReplicaRequest(1, 2_500)), Placed)
    decision = place(fleet, second, ReplicaRequest(1, 2_500))
    friends = TENANTS[first] == TENANTS[second] == "lab"
    assert isinstance(decision, Placed) == friends
    if isinstance(decision, Refused):
        assert [(count.filter, count.devices) for count in decision.failed] == [("trust", 1)]
        assert not decision.never


def test_slices_of_a_cut_card_may_be_strangers() -> None:
    fleet = Fleet.build([make.node(1, make.a100(100))])
    for tenant in TENANTS:
        assert isinstance(place(fleet, tenant, ReplicaRequest(1, mig_profile="1g.5gb")), Placed)


def test_a_hold_from_outside_cannot_bring_strangers_together_either() -> None:
    fleet = Fleet.build(make.nodes(1, 1))
    fleet.take(Hold(100, 1, 2_500, 1_000, "vgpu", "", -1, 0, "ann", "", 0, 0))
    with pytest.raises(Oversold, match="another trust group"):
        fleet.take(Hold(100, 1, 2_500, 1_000, "vgpu", "", -1, 0, "bob", "", 0, 0))


def test_the_card_is_anyones_again_when_the_last_share_has_gone() -> None:
    fleet = Fleet.build(make.nodes(1, 1))
    job = make.job(ReplicaRequest(1, 2_500), tenant="ann", trust_group="")
    decision = decide(fleet, job, QUIET)
    assert isinstance(decision, Placed)
    holds = fleet.apply(decision, "ann", "")
    assert isinstance(decide(fleet, make.job(ReplicaRequest(1, 2_500), tenant="bob", trust_group=""), QUIET), Refused)
    for hold in holds:
        fleet.release(hold)
    assert isinstance(place(fleet, "bob", ReplicaRequest(1, 2_500)), Placed)


SHARE = st.sampled_from([100, 1_000, 2_500, 5_000])
STEP = st.tuples(st.sampled_from(sorted(TENANTS)), SHARE, st.integers(1, 3), st.integers(0, 4))


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(
    cards=st.integers(1, 4),
    steps=st.lists(STEP, max_size=14),
)
def test_no_order_of_coming_and_going_puts_strangers_on_one_card(
    cards: int, steps: list[tuple[str, int, int, int]]
) -> None:
    """Single shares, gangs of shares and a share beside a whole card in one replica."""
    fleet = Fleet.build(make.nodes(2, cards))
    live: list[list[Hold]] = []
    for tenant, share, replicas, end in steps:
        request = ReplicaRequest(1, share)
        if end == 3:
            request = ReplicaRequest(2, asks=(ReplicaRequest(1), request))
        decision = decide(fleet, make.job(request, replicas, tenant=tenant, trust_group=TENANTS[tenant]), QUIET)
        if isinstance(decision, Placed):
            live.append(list(fleet.apply(decision, tenant, TENANTS[tenant])))
        if end == 0 and live:
            for hold in live.pop(0):
                fleet.release(hold)
        on: dict[int, set[str]] = {}
        for hold in (hold for holds in live for hold in holds if hold.isolation == "vgpu" and hold.device_key):
            on.setdefault(hold.device_key or 0, set()).add(who(hold.tenant, hold.trust_group))
        assert all(len(groups) == 1 for groups in on.values())
