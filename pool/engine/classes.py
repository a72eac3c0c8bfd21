"""A replica request compiled against the kinds of card of a fleet."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    selected: Ints | None = None  # by label set, 1 where the request's selector takes the card
    parts: tuple[TaskClass, ...] = ()  # of unequal devices: one class a device, hardest first

    def want(self, pick: int) -> Want:
        """The want of the pick-th device chosen."""
        return self.wants[pick if len(self.wants) > 1 else 0]


def compile_class(fleet: Fleet, request: ReplicaRequest, trust: int) -> TaskClass:
    """The class of a request; ``trust`` is the number of its tenant's trust group."""
    if request.asks:
        return _unequal(fleet, request, trust)
    kinds = fleet.kinds.all
    isolation = isolation_for(request, kinds)
    states = max((1 << kind.family.units for kind in kinds if kind.family), default=1)
    entries = range(len(request.memory_mib)) if len(request.memory_mib) > 1 else range(1)
    ordered = sorted(entries, key=lambda e: (-(asked_memory(request, e) or 0), e))
    wants = tuple(_want(request, entry, kinds, isolation, states) for entry in ordered)
    models = np.array([allows(request, kind) for kind in kinds], dtype=np.int64)
    selected = fleet.labels.table(request.gpu_selector) if request.gpu_selector else None
    return TaskClass(request, isolation, trust, models, wants, states, selected)


_HARDEST = {"exclusive": 0, "mig": 1, "vgpu": 2}


def _unequal(fleet: Fleet, request: ReplicaRequest, trust: int) -> TaskClass:
    """One class a device, in the order in which they are placed: whole cards, then slices and
    shares from the largest down. The entry of its want is the device's place in the request."""
    parts: list[TaskClass] = []
    for ask in request.asks:
        for entry in range(ask.devices):
            memory = asked_memory(ask, entry)
            one = replace(ask, devices=1, memory_mib=() if memory is None else (memory,))
            part = compile_class(fleet, one, trust)
            parts.append(replace(part, wants=(replace(part.wants[0], entry=len(parts)),)))
    parts.sort(key=lambda part: (_HARDEST[part.isolation], *(-n for n in _size(part)), part.wants[0].entry))
    wants = tuple(part.wants[0] for part in parts)
    return TaskClass(request, "unequal", trust, parts[0].models, wants, 1, parts=tuple(parts))


def _size(part: TaskClass) -> tuple[int, int]:
    """The most memory and compute that the device would take on any kind of card."""
    want = part.wants[0]
    served = want.serves == 1
    return int((want.memory * served).max(initial=0)), int((want.share * served).max(initial=0))


def _want(request: ReplicaRequest, entry: int, kinds: list[Kind], isolation: str, states: int) -> Want:
    count = len(kinds)
    want = Want(
        entry=entry,
        serves=np.zeros(count, dtype=np.int64),
        memory=np.zeros(count, dtype=np.int64),
        share=np.full(count, request.compute_bp, dtype=np.int64),
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
