"""MIG placement by table over every occupancy of a card's memory slices.

A card's occupancy is a bit mask of memory slices (256 states on an 8-slice GPU, 4 096 on a
12-slice one). For each state and profile the tables hold how many instances still fit and the
start that keeps most room for every other plain profile; equal starts take the highest, so
that small slices gather at the far edge and the large run at 0 stays whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from pool.engine.mig_tables import FAMILIES, Family, Profile

Ints = NDArray[np.int64]

_BY_PRODUCT = (  # words of a product name, least MiB, family
    ("A100", 70_000, "A100-80GB"),
    ("A100", 0, "A100-40GB"),
    ("A800", 70_000, "A100-80GB"),
    ("GH200", 120_000, "H200-141GB"),
    ("GH200", 0, "H100-96GB"),
    ("H200", 0, "H200-141GB"),
    ("H20", 0, "H100-96GB"),
    ("GB200", 0, "GB200-186GB"),
    ("B200", 0, "B200-180GB"),
    ("B300", 0, "B300-269GB"),
    ("H100", 90_000, "H100-94GB"),
    ("H100", 0, "H100-80GB"),
    ("H800", 0, "H100-80GB"),
    ("A30", 0, "A30-24GB"),
    ("RTX PRO 6000", 0, "RTX-PRO-6000-96GB"),
)


@dataclass(frozen=True, slots=True)
class Tables:
    """``count[p, occ]`` instances of profile p that still fit, ``start[p, occ]`` the best start
    (-1: none), ``value[occ]`` the room left: sum over plain profiles of count x share in bp."""

    count: Ints
    start: Ints
    value: Ints


def mask(start: int, size: int) -> int:
    """The memory slices of a placement as bits."""
    return ((1 << size) - 1) << start


@cache
def tables(family_key: str) -> Tables:
    """The occupancy tables of a family of :data:`FAMILIES`."""
    family = FAMILIES[family_key]
    states = np.arange(1 << family.units, dtype=np.int64)
    free = [_free_starts(profile, states) for profile in family.profiles]
    count = np.array(
        [
            np.minimum(fits.sum(axis=0), profile.max_instances)
            for fits, profile in zip(free, family.profiles, strict=True)
        ],
        dtype=np.int64,
    )
    value = np.zeros(len(states), dtype=np.int64)
    for index, profile in enumerate(family.profiles):
        if profile.plain:
            value += count[index] * family.share_bp(profile)
    start = np.array(
        [_best_start(profile, fits, states, value) for fits, profile in zip(free, family.profiles, strict=True)],
        dtype=np.int64,
    )
    return Tables(count, start, value)


def _free_starts(profile: Profile, states: Ints) -> NDArray[np.bool_]:
    bits = [mask(start, profile.units) for start in profile.starts]
    return np.array([(states & bit) == 0 for bit in bits])


def _best_start(profile: Profile, fits: NDArray[np.bool_], states: Ints, value: Ints) -> Ints:
    best = np.full(len(states), -1, dtype=np.int64)
    kept = np.full(len(states), -1, dtype=np.int64)
    for row, start in enumerate(profile.starts):  # ascending: an equal later start wins
        room = value[states | mask(start, profile.units)]
        better = fits[row] & (room >= kept)
        best[better] = start
        kept[better] = room[better]
    return best


def pack(family: Family, occupied: int, profiles: Sequence[int]) -> list[int] | None:
    """Starts for all of ``profiles`` (indices) on one card, by exhaustive search; None if no
    arrangement exists. At most one instance may take the card's media engines."""
    if sum(family.profiles[p].media for p in profiles) > 1:
        return None
    order = sorted(range(len(profiles)), key=lambda i: -family.profiles[profiles[i]].units)
    starts = [-1] * len(profiles)

    def place(depth: int, taken: int) -> bool:
        if depth == len(order):
            return True
        profile = family.profiles[profiles[order[depth]]]
        for start in reversed(profile.starts):
            bits = mask(start, profile.units)
            if not taken & bits:
                starts[order[depth]] = start
                if place(depth + 1, taken | bits):
                    return True
        return False

    return starts if place(0, occupied) else None


def family_for(model: str, memory_mib: int) -> str:
    """The MIG family of a product name such as ``NVIDIA A100-SXM4-80GB``; "" if it has none."""
    name = model.upper().replace("-", " ")
    words = set(name.split())
    for product, least, family in _BY_PRODUCT:
        known = product in name if " " in product else product in words
        if known and memory_mib >= least:
            return family
    return ""
