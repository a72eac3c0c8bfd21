"""The MIG rows against their source, and properties that any legal table has."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pool.engine import Fleet, Placed, Refused, ReplicaRequest, decide, mig
from pool.engine.mig_tables import FAMILIES, Family
from tests.engine import make
from tests.shared_data import SHARED

EVERY = list(FAMILIES.values())
IDS = [family.key for family in EVERY]


@pytest.mark.skipif(not (SHARED / "mig.json").is_file(), reason="../shared/data is not here")
def test_rows_are_those_of_the_source() -> None:
    source = {gpu["model"]: gpu for gpu in json.loads((SHARED / "mig.json").read_text())["gpus"]}
    for family in EVERY:
        gpu = source.pop(family.title)
        assert (family.units, family.slices) == (gpu["memory_units_total"], gpu["compute_slices_total"])
        assert family.verified == gpu["placement_verified"]
        assert [p.name for p in family.profiles] == [row["name"] for row in gpu["profiles"]]
        for profile, row in zip(family.profiles, gpu["profiles"], strict=True):
            assert profile.starts == tuple(row["placement_starts"])
            assert (profile.units, profile.compute_slices) == (row["memory_units"], row["compute_slices"])
            assert (profile.gi_profile_id, profile.max_instances) == (row["gi_profile_id"], row["max_instances"])
            assert profile.memory_mib == round((row["memory_gib"] or 0) * 1024)
            assert profile.assumed or row["memory_gib"] is not None
    assert list(source) == ["RTX PRO 5000 Blackwell 48GB"]  # placements unknown: left out


@pytest.mark.parametrize("family", EVERY, ids=IDS)
def test_families_without_published_placements_are_marked_assumed(family: Family) -> None:
    published = "captures" in family.verified or "-lgipp" in family.verified
    assert family.assumed == (not published)
    assert all(profile.assumed or not family.assumed for profile in family.profiles)


@pytest.mark.parametrize("family", EVERY, ids=IDS)
def test_counts_shares_and_memory_never_exceed_a_card(family: Family) -> None:
    tables = mig.tables(family.key)
    for index, profile in enumerate(family.profiles):
        assert tables.count[index, 0] == profile.max_instances or profile.max_instances == 1
        assert all(start + profile.units <= family.units for start in profile.starts)
        assert all(start % profile.units == 0 for start in profile.starts)  # a later start never blocks an earlier
        most = profile.max_instances
        assert family.share_bp(profile) * most <= 10_000
        assert family.memory_of(profile, 40_000) * most <= 40_000
    assert (tables.start[:, -1] == -1).all()
    assert (tables.value[0] > np.delete(tables.value, 0)).all()


def test_78_maximal_layouts_of_a_seven_slice_card() -> None:
    """The published count, from the same rows, by enumeration."""
    family = FAMILIES["A100-40GB"]
    options = [(p.name, s, mig.mask(s, p.units)) for p in family.profiles if p.plain for s in p.starts]
    layouts: set[frozenset[tuple[str, int]]] = set()

    def extend(occupied: int, chosen: frozenset[tuple[str, int]]) -> None:
        more = [(name, start, bits) for name, start, bits in options if not occupied & bits]
        if not more:
            layouts.add(chosen)
        for name, start, bits in more:
            after = chosen | {(name, start)}
            if after not in seen:
                seen.add(after)
                extend(occupied | bits, after)

    seen: set[frozenset[tuple[str, int]]] = set()
    extend(0, frozenset())
    assert len(layouts) == 78
    assert all(sum(int(name[0]) for name, _ in layout) <= 7 for layout in layouts)


def test_one_instance_with_media_engines_a_card() -> None:
    family = FAMILIES["A30-24GB"]
    media = [i for i, p in enumerate(family.profiles) if p.media]
    assert mig.pack(family, 0, media) is None
    assert mig.pack(family, 0, media[:1]) is not None


def test_slices_of_one_replica_share_a_card_but_not_its_media_engines() -> None:
    one, two = Fleet.build([make.node(1, make.a100(100))]), Fleet.build([make.node(1, make.a100(100), make.a100(101))])
    plain, media = ReplicaRequest(2, mig_profile="1g.5gb"), ReplicaRequest(2, mig_profile="1g.5gb+me")
    both = decide(one, make.job(plain))
    assert isinstance(both, Placed)
    assert [(part.device_key, part.mig_start) for part in both.replicas[0].devices] == [(100, 6), (100, 5)]
    assert isinstance(decide(one, make.job(media)), Refused)
    apart = decide(two, make.job(media))
    assert isinstance(apart, Placed)
    assert {part.device_key for part in apart.replicas[0].devices} == {100, 101}


def test_kept_scores_follow_the_slices_that_are_taken() -> None:
    """The same request again and again: each finds the start that is free now."""
    fleet = Fleet.build([make.node(1, make.a100(100)), make.node(2), make.node(3)])
    starts = []
    for _ in range(7):
        decision = decide(fleet, make.job(ReplicaRequest(1, mig_profile="1g.5gb")))
        assert isinstance(decision, Placed)
        starts.append(decision.replicas[0].devices[0].mig_start)
        fleet.apply(decision, "t1", "g1")
    assert sorted(starts) == list(range(7))
