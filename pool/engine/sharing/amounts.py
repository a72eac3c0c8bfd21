"""What queues are measured in: four resources as whole numbers.

``gpu`` counts compute share times the weight of the card's model, so that a mixed fleet is
comparable: 10 000 bp of a card of weight 100 (the reference model) are 1 000 000 units. The
others are MiB of cards, milli of CPU and MiB of nodes. Whole numbers add up the same in any
order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from pool.engine.kinds import PAD, Kind, allows, asked_memory, isolation_for, profile_for
from pool.engine.types import WHOLE, Hold, JobRequest, ReplicaRequest

RESOURCES: Final = ("gpu", "gpu_memory_mib", "cpu_milli", "host_memory_mib")
PLAIN: Final = 100  # the weight of the reference model
CARD: Final = WHOLE * PLAIN  # gpu units of one reference card
HEAVIEST: Final = 1_000_000

Amounts = tuple[int, int, int, int]
NOTHING: Final[Amounts] = (0, 0, 0, 0)


def plus(a: Amounts, b: Amounts, times: int = 1) -> Amounts:
    """``a + times x b``."""
    return (a[0] + times * b[0], a[1] + times * b[1], a[2] + times * b[2], a[3] + times * b[3])


def within(a: Amounts, b: Amounts, asked: Amounts) -> bool:
    """Whether ``a <= b`` in every resource that ``asked`` takes any of."""
    return all(x <= y or not z for x, y, z in zip(a, b, asked, strict=True))


@dataclass(frozen=True, slots=True)
class Weights:
    """By model, in hundredths of the reference model; a model not named weighs ``default``."""

    by_model: Mapping[str, int] = field(default_factory=dict)
    default: int = PLAIN

    def __post_init__(self) -> None:
        for model, weight in [*self.by_model.items(), ("default", self.default)]:
            if not 1 <= weight <= HEAVIEST:
                raise ValueError(f"weight of {model}: {weight} is outside 1 to {HEAVIEST}")

    @staticmethod
    def from_prices(prices: Mapping[str, Decimal], reference: str) -> Weights:
        """Weights in proportion to prices an hour. ValueError if the reference has none."""
        if prices.get(reference, Decimal(0)) <= 0:
            raise ValueError(f"reference: {reference} has no price above 0")
        scaled = {model: round(price * PLAIN / prices[reference]) for model, price in prices.items()}
        return Weights({model: max(1, weight) for model, weight in scaled.items()})

    def of(self, model: str) -> int:
        """The weight of a model."""
        return self.by_model.get(model, self.default)


def held(holds: Iterable[Hold], model_of: Mapping[int, str], weights: Weights) -> Amounts:
    """What holds take; ``model_of`` names the model of a device key. MIG slices count by their
    compute share and memory like any other part of a card."""
    total = NOTHING
    for hold in holds:
        gpu = 0 if hold.device_key is None else hold.share_bp * weights.of(model_of[hold.device_key])
        total = plus(total, (gpu, hold.memory_mib, hold.cpu_milli, hold.host_memory_mib))
    return total


def asked(job: JobRequest, kinds: Iterable[Kind], weights: Weights, whole: bool = False) -> Amounts:
    """The most that a job's minimum (``whole``: all its replicas) may take, on the heaviest card
    and the largest memory that it allows."""
    known = [kind for kind in kinds if kind is not PAD]
    total, count = NOTHING, 0
    each: list[tuple[Amounts, int]] = []
    for role in job.roles:
        part = _replica(role.request, known, weights)
        sure = role.replicas if whole else role.min_replicas
        total, count = plus(total, part, sure), count + sure
        each.append((part, role.replicas - sure))
    # replicas beyond the roles' minimums, until the gang's: the largest may be the ones
    missing = max(1, job.min_member) - count
    for part, spare in sorted(each, reverse=True):
        more = max(0, min(spare, missing))
        total, missing = plus(total, part, more), missing - more
    return total


def _replica(request: ReplicaRequest, kinds: list[Kind], weights: Weights) -> Amounts:
    gpu, memory = 0, 0
    if request.devices:
        isolation = isolation_for(request, kinds)
        parts = [_on(kind, request, isolation, weights) for kind in kinds if allows(request, kind)]
        gpu = max((part[0] for part in parts), default=request.devices * request.share_bp * weights.default)
        memory = max((part[1] for part in parts), default=sum(request.memory_mib))
    return (gpu, memory, request.cpu_milli, request.host_memory_mib)


def _on(kind: Kind, request: ReplicaRequest, isolation: str, weights: Weights) -> tuple[int, int]:
    """GPU units and MiB of all of a replica's devices on cards of one kind; 0 if it cannot serve."""
    share, memory = 0, 0
    for entry in range(request.devices):
        if isolation == "mig":
            index = profile_for(request, entry, kind)
            if kind.family is None or index < 0:
                return 0, 0
            profile = kind.family.profiles[index]
            share += kind.family.share_bp(profile)
            memory += kind.family.memory_of(profile, kind.memory_mib)
            continue
        wanted = asked_memory(request, entry)
        share += request.share_bp
        soft = kind.memory_mib * request.share_bp // WHOLE if wanted is None else wanted
        memory += kind.memory_mib if isolation == "exclusive" else soft
    return share * weights.of(kind.model), memory
