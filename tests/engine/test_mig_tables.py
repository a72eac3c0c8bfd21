"""The MIG rows against their source, and properties that any legal table has."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pool.engine import mig
from pool.engine.mig_tables import FAMILIES, Family
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
