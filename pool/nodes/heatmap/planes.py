"""From telemetry and counters to the planes of bytes that frames carry. Pure NumPy."""

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from pool.nodes.heatmap import codec
from pool.nodes.heatmap import gather as columns


@dataclass(frozen=True, slots=True)
class Summary:
    """The pool in a few numbers. Means are over `reporting` devices; None when none reports."""

    at: float
    devices: int
    reporting: int
    share_bp: int
    utilisation_bp: int | None
    memory_bp: int | None
    power_w: int
    faults: int

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def build(
    table: NDArray[np.uint16],
    received: NDArray[np.float64],
    share: NDArray[np.int64],
    marks: NDArray[np.uint8],
    tenant: NDArray[np.uint16],
    power_limit: NDArray[np.int64],
    *,
    now: float,
    stale_after: float,
) -> dict[str, codec.Values]:
    """Every layer's values. `table` and `received` as gather.gather gives them, the rest per device."""
    fresh = received >= now - stale_after
    never = received == 0
    percent = {"utilisation": columns.UTILISATION, "memory": columns.MEMORY}
    planes: dict[str, codec.Values] = {
        layer: _scaled(table[:, column], 10_000, fresh, never) for layer, column in percent.items()
    }
    planes["temperature"] = _scaled(table[:, columns.TEMPERATURE], 1_250, fresh, never)
    watts = table[:, columns.POWER].astype(np.float64)
    planes["power"] = _scaled(watts / power_limit, 1.25, fresh, never)
    planes["allocation"] = _quantise(share.astype(np.float64), 10_000)
    planes["tenant"] = tenant.copy()
    faulty = fresh & ((table[:, columns.FLAGS] & columns.FAULT) != 0)
    planes["marks"] = (marks | np.where(faulty, codec.MARK_FAULT, 0)).astype(np.uint8)
    return planes


def summarise(
    table: NDArray[np.uint16],
    received: NDArray[np.float64],
    share: NDArray[np.int64],
    marks: codec.Values,
    *,
    now: float,
    stale_after: float,
) -> Summary:
    fresh = received >= now - stale_after
    live = table[fresh]
    some = len(live) > 0
    return Summary(
        at=now,
        devices=len(received),
        reporting=len(live),
        share_bp=int(share.sum()),
        utilisation_bp=round(float(live[:, columns.UTILISATION].mean())) if some else None,
        memory_bp=round(float(live[:, columns.MEMORY].mean())) if some else None,
        power_w=int(live[:, columns.POWER].sum(dtype=np.int64)),
        faults=int(((marks & codec.MARK_FAULT) != 0).sum()),
    )


def _scaled(
    column: NDArray[np.uint16] | NDArray[np.float64],
    full: float,
    fresh: NDArray[np.bool_],
    never: NDArray[np.bool_],
) -> NDArray[np.uint8]:
    values = _quantise(column.astype(np.float64), full)
    values[~fresh] = codec.STALE
    values[never] = codec.NO_DATA
    return values


def _quantise(values: NDArray[np.float64], full: float) -> NDArray[np.uint8]:
    """`full` becomes codec.TOP; what is above it stays there. Anything above nothing shows as at least 1."""
    scaled = np.clip(np.rint(values * (codec.TOP / full)), 0, codec.TOP)
    scaled[(values > 0) & (scaled == 0)] = 1
    return scaled.astype(np.uint8)
