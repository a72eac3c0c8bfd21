"""The typical mix: which requests a pool should keep room for, and tables to price a state by it.

Source of the idea: fragmentation gradient descent, Weng et al., USENIX ATC 2023. A node's
fragmentation is F = sum over typical tasks m of p_m x (free share that m cannot use). With
S the free share and U_m what m can use, F = S - sum p_m U_m. For one-device tasks U_m is a sum
over devices, so it is a table by (kind of card, CPU step, free share step); for tasks of
several whole cards it is a table by the number of whole cards free. Both are exact, and a
node's F costs a few look-ups instead of a loop over tasks. Weights are integers (``SCALE`` in
all, before scarcity), so that no rounding noise ever decides a placement.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pool.engine import mig
from pool.engine.kinds import Kind, Kinds, allows, isolation_for, least_share, profile_for
from pool.engine.scarcity import scarce_weights
from pool.engine.types import WHOLE, ReplicaRequest

Ints = NDArray[np.int64]
SCALE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class TypicalMix:
    """``classes``: the common requests with integer weights that sum to :data:`SCALE`.
    ``cpu_demand`` and ``gpu_demand``: mean CPU (milli) and GPU (bp) of an observed request."""

    classes: tuple[tuple[ReplicaRequest, int], ...]
    cpu_demand: float
    gpu_demand: float

    @staticmethod
    def observe(observed: Iterable[tuple[ReplicaRequest, float]], coverage: float = 0.95) -> TypicalMix:
        """Requests by falling weight until ``coverage`` of the whole weight is reached.

        Host memory is left out of a class: fragmentation does not look at it. Raises
        ValueError for an empty or non-positive mix.
        """
        weights: dict[ReplicaRequest, float] = {}
        for request, weight in observed:
            if not 0 < weight < float("inf"):
                raise ValueError(f"weight: {weight!r} is not a positive number")
            known = replace(request, host_memory_mib=0)
            weights[known] = weights.get(known, 0.0) + weight
        if not weights:
            raise ValueError("observed: a mix needs at least one request")
        total = sum(weights.values())
        ordered = sorted(weights.items(), key=lambda item: (-item[1], order_of(item[0])))
        kept = _cover(ordered, total * coverage)
        cpu = sum(request.cpu_milli * weight for request, weight in ordered) / total
        gpu = sum(_gpu_bp(request) * weight for request, weight in ordered) / total
        return TypicalMix(_integers(kept), cpu, gpu)


def _gpu_bp(request: ReplicaRequest) -> int:
    return sum(ask.devices * ask.compute_bp for ask in request.asks or (request,))


def order_of(request: ReplicaRequest) -> tuple[object, ...]:
    """All that a request says, as plain values: what equal weights are ordered by."""
    return (
        request.devices,
        request.share_bp,
        request.memory_mib,
        request.mig_profile,
        request.isolation,
        tuple(sorted(request.models)),
        request.cpu_milli,
        request.bandwidth_sensitive,
        request.gpu_cores_percent,
        tuple(sorted(request.vendors)),
        request.preference,
        tuple(str(condition) for condition in request.gpu_selector),
        tuple(order_of(ask) for ask in request.asks),
    )


def _cover(ordered: list[tuple[ReplicaRequest, float]], enough: float) -> list[tuple[ReplicaRequest, float]]:
    kept: list[tuple[ReplicaRequest, float]] = []
    covered = 0.0
    for request, weight in ordered:
        if covered >= enough:
            break
        kept.append((request, weight))
        covered += weight
    return kept


def _integers(kept: list[tuple[ReplicaRequest, float]]) -> tuple[tuple[ReplicaRequest, int], ...]:
    """Weights as whole numbers by largest remainder, so that they sum to SCALE exactly."""
    total = sum(weight for _, weight in kept)
    exact = [weight * SCALE / total for _, weight in kept]
    whole = [int(value) for value in exact]
    by_remainder = sorted(range(len(kept)), key=lambda i: (whole[i] - exact[i], i))
    for index in by_remainder[: SCALE - sum(whole)]:
        whole[index] += 1
    return tuple((request, value) for (request, _), value in zip(kept, whole, strict=True))


def _default() -> TypicalMix:
    shares = ((10_000, 25), (5_000, 20), (2_500, 15), (1_250, 10), (1_000, 5))
    gangs = ((2, 10), (4, 5), (8, 10))
    return TypicalMix.observe(
        [(ReplicaRequest(1, share), weight) for share, weight in shares]
        + [(ReplicaRequest(count), weight) for count, weight in gangs],
        coverage=1.0,
    )


DEFAULT_MIX: Final = _default()  # until a pool has seen requests of its own


@dataclass(frozen=True, slots=True)
class PlainTables:
    """The tables of :class:`MixTables` that are read row by row, as lists."""

    cpu_steps: list[int]
    share_step: list[int]
    single: list[int]
    multi: list[int]
    broken: list[int]


@dataclass(frozen=True, slots=True)
class MixTables:
    """A mix compiled for the kinds of card of a fleet; values are share (bp) x weight.

    broken[kind, cpu step, n]: what multi loses when one of n whole cards is taken.

    single[kind, cpu step, share step]: weight of one-device tasks that a card with that free
    share serves. multi[kind, cpu step, n]: value of n whole free cards to tasks of several.
    cut[kind, cpu step, occupancy]: value of a card's free MIG slices (0 without MIG).
    """

    cpu_steps: Ints
    share_step: Ints
    single: Ints
    multi: Ints
    broken: Ints
    cut: Ints
    cpus: int
    shares: int
    counts: int
    states: int
    plain: PlainTables


def compile_mix(mix: TypicalMix, kinds: Kinds, most_devices: int, cards: Ints | None) -> MixTables:
    """The tables of a mix for a fleet of so many ``cards`` of each kind, up to ``most_devices`` on a node.

    To place by, a request counts for more the fewer cards serve it (scarcity.py).

    MIG slices are placed by the room left for every plain profile alike, whatever the mix asks:
    weighting by the mix gave up 3 to 10 points of slices in use when small ones prevail
    (tests/bench/engine_mig.py). ``cards`` None: tables to measure by, where every request and every
    slice counts as often as it is asked for.
    """
    weights = [weight for _, weight in mix.classes] if cards is None else scarce_weights(mix.classes, kinds, cards)
    cpu_steps = sorted({request.cpu_milli for request, _ in mix.classes})
    marks = sorted(
        {
            needed
            for request, _ in mix.classes
            for kind in kinds.all[1:]
            if (needed := least_share(request, kind, kinds.all)) is not None
        }
    )
    cpus, shares, counts = len(cpu_steps) + 1, len(marks) + 1, most_devices + 1
    states = max((1 << k.family.units for k in kinds.all if k.family), default=1)
    single = np.zeros((len(kinds.all), cpus, shares), dtype=np.int64)
    multi = np.zeros((len(kinds.all), cpus, counts), dtype=np.int64)
    cut = np.zeros((len(kinds.all), cpus, states), dtype=np.int64)
    if cards is not None:
        _keep_room(cut, kinds)
    for (request, _), weight in zip(mix.classes, weights, strict=True):
        step = cpu_steps.index(request.cpu_milli) + 1
        for number, kind in enumerate(kinds.all):
            if request.devices == 0 or not allows(request, kind):
                continue
            if isolation_for(request, kinds.all) == "mig":
                if cards is None:
                    _add_slices(cut[number, step:], request, kind, weight)
                continue
            needed = least_share(request, kind, kinds.all)
            if needed is None:
                continue
            if needed == WHOLE and request.devices > 1:
                fits = np.arange(counts) >= request.devices
                multi[number, step:] += np.where(fits, np.arange(counts) * WHOLE * weight, 0)
            else:
                single[number, step:, marks.index(needed) + 1 :] += weight
    share_step = np.searchsorted(np.array(marks or [WHOLE + 1]), np.arange(WHOLE + 1), "right")
    broken = np.diff(multi, axis=2, prepend=0).ravel()
    tables = share_step.tolist(), single.ravel().tolist(), multi.ravel().tolist(), broken.tolist()
    return MixTables(
        cpu_steps=np.array(cpu_steps, dtype=np.int64),
        share_step=share_step.astype(np.int64),
        single=single.ravel(),
        multi=multi.ravel(),
        broken=broken,
        cut=cut.ravel(),
        cpus=cpus,
        shares=shares,
        counts=counts,
        states=states,
        plain=PlainTables(cpu_steps, *tables),
    )


def _keep_room(cut: Ints, kinds: Kinds) -> None:
    for number, kind in enumerate(kinds.all):
        if kind.family is None:
            continue
        room = mig.tables(kind.family.key).value
        plain = sum(profile.plain for profile in kind.family.profiles)
        cut[number, :, : len(room)] = room * SCALE // plain


def _add_slices(cut: Ints, request: ReplicaRequest, kind: Kind, weight: int) -> None:
    index = profile_for(request, 0, kind)
    family = kind.family
    if family is None or index < 0:
        return
    share = family.share_bp(family.profiles[index])
    count = mig.tables(family.key).count[index]
    cut[:, : len(count)] += count * share * weight
