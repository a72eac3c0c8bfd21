"""A replica request compiled against the kinds of card of a fleet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pool.engine import mig
from pool.engine.kinds import (
    Kind,
    allows,
    asked_memory,
    isolation_for,
    profile_for,
    shared_memory,
)
from pool.engine.types import WHOLE, ReplicaRequest

if TYPE_CHECKING:
    from pool.engine.fleet import Fleet

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Want:
    """What one device of a request must offer, by kind number.

    ``serves`` 1 if this kind of card can serve it when empty; ``memory`` MiB (least memory of
    a whole card, or what a soft share takes); ``share`` bp; for MIG the ``profile`` index (-1),
    its memory slices as bits at start 0 (``units``), ``media`` 1 if it takes the media engines,
    and ``start[kind, occupancy]`` (-1).
    """

    entry: int
    serves: Ints
    memory: Ints
    share: Ints
    profile: Ints
    units: Ints
    media: Ints
    start: Ints


@dataclass(frozen=True, slots=True)
class TaskClass:
    """A request with its isolation decided. ``wants`` go from the largest memory down, because
    then any choice for one leaves enough for the next; one want serves all if they are alike."""

    request: ReplicaRequest
    isolation: str
    trust: int
    models: Ints
    wants: tuple[Want, ...]
    states: int

    def want(self, pick: int) -> Want:
        """The want of the pick-th device chosen."""
        return self.wants[pick if len(self.wants) > 1 else 0]


def compile_class(fleet: Fleet, request: ReplicaRequest, trust: int) -> TaskClass:
    """The class of a request; ``trust`` is the number of its tenant's trust group."""
    kinds = fleet.kinds.all
    isolation = isolation_for(request, kinds)
    states = max((1 << kind.family.units for kind in kinds if kind.family), default=1)
    entries = range(len(request.memory_mib)) if len(request.memory_mib) > 1 else range(1)
    ordered = sorted(entries, key=lambda e: (-(asked_memory(request, e) or 0), e))
    wants = tuple(_want(request, entry, kinds, isolation, states) for entry in ordered)
    models = np.array([allows(request, kind) for kind in kinds], dtype=np.int64)
    return TaskClass(request, isolation, trust, models, wants, states)


def _want(request: ReplicaRequest, entry: int, kinds: list[Kind], isolation: str, states: int) -> Want:
    count = len(kinds)
    want = Want(
        entry=entry,
        serves=np.zeros(count, dtype=np.int64),
        memory=np.zeros(count, dtype=np.int64),
        share=np.full(count, request.share_bp, dtype=np.int64),
        profile=np.full(count, -1, dtype=np.int64),
        units=np.zeros(count, dtype=np.int64),
        media=np.zeros(count, dtype=np.int64),
        start=np.full(count * states if isolation == "mig" else 0, -1, dtype=np.int64),
    )
    for number, kind in enumerate(kinds):
        if not allows(request, kind):
            continue
        if isolation == "mig":
            _fill_mig(want, number, kind, profile_for(request, entry, kind), states)
            continue
        whole = isolation == "exclusive"
        needed = (asked_memory(request, entry) or 0) if whole else shared_memory(request, entry, kind)
        want.memory[number] = needed
        want.serves[number] = kind.plain and needed <= kind.memory_mib
        if whole:
            want.share[number] = WHOLE
    return want


def _fill_mig(want: Want, number: int, kind: Kind, index: int, states: int) -> None:
    family = kind.family
    if family is None or index < 0:
        return
    profile = family.profiles[index]
    want.serves[number] = 1
    want.memory[number] = family.memory_of(profile, kind.memory_mib)
    want.share[number] = family.share_bp(profile)
    want.profile[number] = index
    want.units[number] = mig.mask(0, profile.units)
    want.media[number] = profile.media
    starts = mig.tables(family.key).start[index]
    want.start[number * states : number * states + len(starts)] = starts
