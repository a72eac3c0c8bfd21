"""A line too small for a chart library: points of an SVG polyline."""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT, PAD = 260, 44, 3


@dataclass(frozen=True, slots=True)
class Spark:
    """`points` for <polyline>, in a viewBox of WIDTH x HEIGHT; `last`, `low` and `high` in percent."""

    points: str
    last: float
    low: float
    high: float


def draw(values: Sequence[float]) -> Spark | None:
    """Values of 0 to 100; None for fewer than two."""
    if len(values) < 2:
        return None
    across = WIDTH / (len(values) - 1)
    down = (HEIGHT - 2 * PAD) / 100
    points = " ".join(
        f"{place * across:.1f},{HEIGHT - PAD - min(100.0, max(0.0, value)) * down:.1f}"
        for place, value in enumerate(values)
    )
    return Spark(points, values[-1], min(values), max(values))
