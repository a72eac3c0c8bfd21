"""T12: the memory in a MIG profile's name is nominal; 5 000 against 5 120 MB never makes a fit fail."""

from __future__ import annotations

import pytest

from pool.engine import Fleet, NodeSpec, Placed, Policy, Refused, ReplicaRequest, decide, less_reserve, never_fits
from pool.engine.mig_tables import FAMILIES, Family, Profile
from tests.engine import make

QUIET = Policy(explain=False)
EVERY = [(family, profile) for family in FAMILIES.values() for profile in family.profiles]


def card_of(family: Family, memory_mib: int) -> NodeSpec:
    return make.node(1, make.card(100, "X", memory_mib, mig_family=family.key, mig_enabled=True))


@pytest.mark.parametrize(("family", "profile"), EVERY, ids=lambda x: getattr(x, "key", getattr(x, "name", "")))
@pytest.mark.parametrize("reserve", [0, 3])
def test_nominal_memory_fits_its_own_profile(family: Family, profile: Profile, reserve: int) -> None:
    """Also on a card whose size the driver reports a little under the name's."""
    whole = int(family.key.rsplit("-", 1)[1].removesuffix("GB")) * 1_000
    fleet = Fleet.build([card_of(family, less_reserve(whole, reserve))])
    request = ReplicaRequest(1, mig_profile=profile.name, memory_mib=(profile.nominal_mib,))
    for _ in range(profile.max_instances):
        decision = decide(fleet, make.job(request), QUIET)
        assert isinstance(decision, Placed)
        fleet.apply(decision, "t1", "g1")
    assert isinstance(decide(fleet, make.job(request), QUIET), Refused)
    assert fleet.counts().free_memory_mib >= 0


@pytest.mark.parametrize("memory", [4_864, 5_000, 5_120])
def test_a_share_that_asks_for_5_gb_gets_a_1g_5gb(memory: int) -> None:
    fleet = Fleet.build([make.node(1, make.a100(100))])
    request = ReplicaRequest(1, 1_250, memory_mib=(memory,), bandwidth_sensitive=True)
    decision = decide(fleet, make.job(request), QUIET)
    assert isinstance(decision, Placed)
    part = decision.replicas[0].devices[0]
    assert (part.isolation, part.mig_profile, part.memory_mib) == ("mig", "1g.5gb", 4_864)


def test_far_more_memory_than_the_profile_has_is_refused() -> None:
    fleet = Fleet.build([make.node(1, make.a100(100))])
    refused = never_fits(fleet, make.job(ReplicaRequest(1, mig_profile="1g.5gb", memory_mib=(6_000,))))
    assert refused is not None
    assert [f.filter for f in refused.failed] == ["mig_profile"]
