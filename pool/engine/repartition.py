"""What a card in MIG mode can be cut into next: every legal placement, whom it puts out, what that costs.

By the placement tables: an instance of a profile begins at one of its starts and covers its memory
slices from there; together instances take no more compute slices than the card has, and one of
them at most the media engines. A placement that nothing is in the way of costs nothing. Else what
lies there goes, and more, cheapest first, until the compute slices suffice.

Placements of a profile compare by what they leave: the room for other instances, weighted by how
often each profile is asked for (the observed mix), or every plain profile alike without one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pool.engine import mig
from pool.engine.mig_tables import Family, Profile


@dataclass(frozen=True, slots=True)
class Instance:
    """What is on the card now. ``cost`` of its stop and start elsewhere; None: it may not be moved."""

    key: int
    profile: str
    start: int
    size: int
    cost: int | None


@dataclass(frozen=True, slots=True)
class Option:
    """A legal placement. ``evicts``: keys of those that must go; ``blocked``: one of them may not be
    moved. ``room``: what is left for the mix afterwards, in bp of the card's; ``best``: of its profile."""

    profile: str
    start: int
    size: int
    evicts: tuple[int, ...]
    cost: int
    blocked: bool
    room: int
    best: bool = False


def options(family: Family, held: Sequence[Instance], mix: Mapping[str, float] | None = None) -> list[Option]:
    """All of them, the largest profile first, then by start."""
    weights = _weights(family, mix)
    found: list[Option] = []
    for profile in sorted(family.profiles, key=lambda each: (-each.units, -each.compute_slices, each.name)):
        of_profile = [_option(family, profile, start, held, weights) for start in profile.starts]
        best = min(of_profile, key=lambda each: (each.blocked, each.cost, len(each.evicts), -each.room, -each.start))
        found += [_marked(option, option is best) for option in of_profile]
    return found


def room(family: Family, occupied: int, weights: Mapping[str, float]) -> float:
    """What still fits beside these occupied memory slices, by weight: 1 for an empty card."""
    tables = mig.tables(family.key)
    value = whole = 0.0
    for index, profile in enumerate(family.profiles):
        share = weights.get(profile.name, 0.0) * profile.compute_slices
        value += share * int(tables.count[index][occupied])
        whole += share * int(tables.count[index][0])
    return value / whole if whole else 0.0


def _weights(family: Family, mix: Mapping[str, float] | None) -> Mapping[str, float]:
    asked = {p.name: mix[p.name] for p in family.profiles if p.name in mix} if mix else {}
    return asked or {profile.name: 1.0 for profile in family.profiles if profile.plain}


def _option(
    family: Family, profile: Profile, start: int, held: Sequence[Instance], weights: Mapping[str, float]
) -> Option:
    bits = mig.mask(start, profile.units)
    going = [each for each in held if mig.mask(each.start, each.size) & bits]
    if profile.media:
        going += [each for each in held if "+me" in each.profile and each not in going]
    slices = {each.name: each.compute_slices for each in family.profiles}
    left = sorted((each for each in held if each not in going), key=_ease)
    free = family.slices - sum(slices.get(each.profile, 0) for each in left)
    while free < profile.compute_slices and left:
        going.append(left.pop(0))
        free += slices.get(going[-1].profile, 0)
    occupied = bits
    for each in left:
        occupied |= mig.mask(each.start, each.size)
    return Option(
        profile=profile.name,
        start=start,
        size=profile.units,
        evicts=tuple(each.key for each in going),
        cost=sum(each.cost or 0 for each in going),
        blocked=any(each.cost is None for each in going),
        room=int(10_000 * room(family, occupied, weights)),
    )


def _ease(instance: Instance) -> tuple[bool, int, int]:
    return instance.cost is None, instance.cost or 0, instance.key


def _marked(option: Option, best: bool) -> Option:
    if not best:
        return option
    return Option(
        option.profile, option.start, option.size, option.evicts, option.cost, option.blocked, option.room, True
    )
