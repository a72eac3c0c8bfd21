"""Questions that this room asks of rooms above it; console/wiring.py plugs the answers in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Protocol

from console.tenants.models import Tenant


@dataclass(frozen=True, slots=True)
class QuoteItem:
    """Part of a card to be priced. Several `models`: not placed yet, any of them may be had.

    `compute_num` / `compute_den` is the exact compute share: 1/7 for a 1g slice. `memory_mib` of
    `device_memory_mib` is what would be held; 0 of 0: not known yet, the compute share alone is priced.
    """

    models: tuple[str, ...]
    isolation: str
    share_bp: int
    compute_num: int
    compute_den: int
    count: int
    memory_mib: int = 0
    device_memory_mib: int = 0


@dataclass(frozen=True, slots=True)
class Quote:
    """What an hour costs at the prices valid now: from `least` to `per_hour`, by the models that it may get.

    Both None where some part has no price on any of its models. `missing`: each "MODEL isolation" without a price.
    """

    per_hour: Decimal | None
    currency: str
    missing: tuple[str, ...] = ()
    least: Decimal | None = None


class PriceQuote(Protocol):
    def __call__(self, tenant: Tenant, items: Sequence[QuoteItem]) -> Quote: ...


_price_quote: PriceQuote | None = None


def set_price_quote(answer: PriceQuote) -> None:
    global _price_quote
    _price_quote = answer


def price_quote(tenant: Tenant, items: Sequence[QuoteItem]) -> Quote | None:
    """None where no room knows prices."""
    return _price_quote(tenant, items) if _price_quote else None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """When a job's state was last saved, and the seconds that it loses by starting again."""

    at: datetime
    restart_s: int = 0


class Checkpoints(Protocol):
    def __call__(self, jobs: Sequence[int]) -> Mapping[int, Checkpoint]: ...


_checkpoints: Checkpoints | None = None


def set_checkpoints(answer: Checkpoints | None) -> None:
    global _checkpoints
    _checkpoints = answer


def checkpoints(jobs: Sequence[int]) -> Mapping[int, Checkpoint]:
    """Of these jobs, by primary key; a job that is not there never saved. Nothing where no room knows of any."""
    return _checkpoints(jobs) if _checkpoints and jobs else {}


class RunBounds(Protocol):
    def __call__(self, jobs: Sequence[int]) -> Mapping[int, int]: ...


_run_bounds: RunBounds | None = None


def set_run_bounds(answer: RunBounds | None) -> None:
    global _run_bounds
    _run_bounds = answer


def run_bounds(jobs: Sequence[int]) -> Mapping[int, int]:
    """Seconds that these jobs (by primary key) run at most as predicted, where a prediction has a bound; a job's own
    maximum duration goes before. Nothing where no room predicts."""
    return _run_bounds(jobs) if _run_bounds and jobs else {}


def bounds_known() -> bool:
    """Whether some room predicts at all."""
    return _run_bounds is not None
