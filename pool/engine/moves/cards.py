"""Who must leave one card so that it can give one device of a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from pool.engine import mig
from pool.engine import state as s
from pool.engine.classes import TaskClass, Want
from pool.engine.fleet import Fleet
from pool.engine.moves.types import Movable

MOST_TOGETHER: Final = 3  # sharers of one card that leave together; more is tried as all of them
MOST_SHARERS: Final = 12

Leaving = tuple[Movable, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """A card as it stands, and the movables that hold parts of it."""

    fleet: Fleet
    row: int
    column: int
    key: int
    sharers: tuple[Movable, ...]

    def field(self, field: int) -> int:
        """One of its numbers in the fleet's arrays."""
        return int(self.fleet.state.device[field, self.row, self.column])

    def freed(self, leaving: Sequence[Movable]) -> tuple[int, int, int]:
        """Share, memory and number of the holds that leave with them."""
        holds = [hold for movable in leaving for hold in movable.holds if hold.device_key == self.key]
        return sum(h.share_bp for h in holds), sum(h.memory_mib for h in holds), len(holds)


def leaving(card: Card, task: TaskClass, want: Want) -> list[Leaving]:
    """Sets of movables each of which, gone, lets the card serve the want; none contains another
    of them that costs no more. Empty: moving cannot help this card."""
    kind = card.field(s.KIND)
    if not card.field(s.OPEN) or not want.serves[kind]:
        return []
    everyone = _everyone(card)
    if task.isolation == "mig":
        return _slices(card, want, kind)
    if task.isolation == "vgpu" and card.field(s.USE) == s.SHARED and card.field(s.TRUST) == task.trust:
        return _sharers(card, want, kind) or everyone
    return everyone


def _everyone(card: Card) -> list[Leaving]:
    """All of the card's holds belong to movables, so it can be emptied."""
    return [card.sharers] if card.sharers and card.freed(card.sharers)[2] == card.field(s.HELD) else []


def _sharers(card: Card, want: Want, kind: int) -> list[Leaving]:
    share = int(want.share[0]) - card.field(s.SHARE)
    memory = int(want.memory[kind]) - card.field(s.MEMORY)
    found: list[Leaving] = []
    for size in range(1, MOST_TOGETHER + 1):
        for some in combinations(card.sharers[:MOST_SHARERS], size):
            if any(set(smaller) <= set(some) for smaller in found):
                continue
            freed = card.freed(some)
            if freed[0] >= share and freed[1] >= memory:
                found.append(some)
    return found


def _slices(card: Card, want: Want, kind: int) -> list[Leaving]:
    """For each start of the profile, those whose instances lie in its way; and who must give up
    compute slices or the media engines, if that is what is missing."""
    family = card.fleet.kinds.all[kind].family
    if family is None or card.field(s.USE) not in (s.IDLE, s.CUT):
        return []
    profile = family.profiles[int(want.profile[kind])]
    found: list[Leaving] = []
    for start in profile.starts:
        bits = mig.mask(start, profile.units)
        some = tuple(m for m in card.sharers if _bits(card, m) & bits)
        left = card.field(s.SLICES)
        for movable in some:
            left &= ~_bits(card, movable)
        if left & bits:
            continue  # someone who may not move is in the way
        if profile.media:
            some += tuple(m for m in card.sharers if m not in some and _media(card, m))
            if card.field(s.MEDIA) > sum(_media(card, m) for m in some):
                continue
        some = _compute(card, some, int(want.share[kind]))
        if some and some not in found:
            found.append(some)
    return found


def _bits(card: Card, movable: Movable) -> int:
    held = 0
    for hold in movable.holds:
        if hold.device_key == card.key and hold.mig_start >= 0:
            held |= mig.mask(hold.mig_start, hold.mig_size)
    return held


def _media(card: Card, movable: Movable) -> int:
    return sum(hold.device_key == card.key and "+me" in hold.mig_profile for hold in movable.holds)


def _compute(card: Card, some: Leaving, share: int) -> Leaving:
    """With further sharers, cheapest first, until the compute slices suffice; () if they never do."""
    short = share - card.field(s.SHARE) - card.freed(some)[0]
    for movable in card.sharers:
        if short <= 0:
            break
        if movable not in some:
            some += (movable,)
            short -= card.freed((movable,))[0]
    return some if short <= 0 else ()
