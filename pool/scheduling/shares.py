"""Exact parts of a card: what billing multiplies by."""

from dataclasses import dataclass

from pool.engine.mig_tables import FAMILIES

WHOLE = 10_000


@dataclass(frozen=True, slots=True)
class Part:
    """Compute and memory of a card as fractions: 1/7 and 1/8 for a 1g slice."""

    compute_num: int
    compute_den: int
    memory_num: int
    memory_den: int


def part_of(family_key: str, mig_profile: str, share_bp: int, memory_mib: int, device_memory_mib: int) -> Part:
    """The exact part that an allocation is of its card."""
    if not mig_profile:
        return Part(share_bp, WHOLE, memory_mib, device_memory_mib)
    family = FAMILIES[family_key]
    profile = next(item for item in family.profiles if item.name == mig_profile)
    return Part(profile.compute_slices, family.slices, profile.units, family.units)
