"""Telemetry for pages: what a node reports now, and what it reported. Valkey has the first, rollups the second."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import numpy as np
import redis
import structlog
from django.conf import settings

from pool.inventory.models import Device
from pool.nodes import telemetry
from pool.nodes.heatmap import gather, store
from pool.nodes.models import NodeRollup, PoolSample

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Reading:
    """One card. Basis points, °C, W; `age_s` since the server had it; `stale`: the node has fallen silent."""

    utilisation_bp: int
    memory_bp: int
    temperature_c: float
    power_w: int
    fault: bool
    age_s: float
    stale: bool


@dataclass(frozen=True, slots=True)
class Point:
    """A mean over one rollup period that starts at `at`."""

    at: datetime
    utilisation_bp: int
    memory_bp: int
    temperature_c: float
    power_w: int


@lru_cache(maxsize=1)
def _valkey() -> redis.Redis:
    return store.client()


def readings(devices: Iterable[Device]) -> dict[int, Reading]:
    """By device primary key; a card whose node reports nothing is left out, and all are while Valkey is away."""
    devices = list(devices)
    nodes = sorted({device.node_id for device in devices})
    if not nodes:
        return {}
    try:
        blobs: list[Any] = _valkey().mget(telemetry.keys(nodes))
    except (redis.RedisError, OSError) as error:
        log.warning("telemetry_not_read", error=str(error))
        return {}
    reports = {node: telemetry.unpack(blob) for node, blob in zip(nodes, blobs, strict=True)}
    rows = _rows(nodes)
    now = time.time()
    found = {}
    for device in devices:
        report, row = reports[device.node_id], rows.get(device.pk)
        if report is not None and row is not None and row < len(report.rows):
            found[device.pk] = _reading(report, row, now)
    return found


def pool_summary() -> dict[str, Any] | None:
    """What the frame builder last saw of the whole pool (planes.Summary); None when none is running."""
    try:
        return store.read_summary(_valkey())
    except (redis.RedisError, OSError) as error:
        log.warning("summary_not_read", error=str(error))
        return None


def layout_document() -> bytes | None:
    """The layout that the frames of now follow; None when no builder is running."""
    try:
        data: Any = _valkey().get(store.LAYOUT)
    except (redis.RedisError, OSError) as error:
        log.warning("layout_not_read", error=str(error))
        return None
    return data  # type: ignore[no-any-return]


def history(device: Device, since: datetime) -> list[Point]:
    """Oldest first."""
    row = Device.objects.filter(node_id=device.node_id, index__lt=device.index, retired_at=None).count()
    points = []
    rollups = NodeRollup.objects.filter(node_id=device.node_id, starts_at__gte=since).order_by("starts_at")
    for at, payload in rollups.values_list("starts_at", "payload"):
        values = np.frombuffer(bytes(payload), "<u2").reshape(-1, telemetry.COLUMNS)
        if row >= len(values) or not values[row][4]:  # the fifth column counts samples
            continue
        utilisation, memory, temperature, power, _ = (int(value) for value in values[row])
        points.append(Point(at, utilisation, memory, temperature / 10, power))
    return points


def pool_samples(since: datetime) -> list[PoolSample]:
    """Oldest first, one a minute."""
    return list(PoolSample.objects.filter(at__gte=since).order_by("at"))


def sample_before(moment: datetime) -> PoolSample | None:
    """The newest sample that is at least as old as `moment`."""
    return PoolSample.objects.filter(at__lte=moment).order_by("-at").first()


def _reading(report: telemetry.NodeTelemetry, row: int, now: float) -> Reading:
    utilisation, memory, temperature, power, flags = (int(value) for value in report.rows[row])
    age = max(0.0, now - report.at)
    stale = age > settings.WEIR_REPORT_SECONDS * settings.WEIR_STALE_REPORTS
    fault = bool(flags & gather.FAULT)
    return Reading(utilisation, memory, temperature / 10, power, fault, age, stale)


def _rows(nodes: list[int]) -> dict[int, int]:
    """Device primary key -> its row in the node's report: reports list the cards by index."""
    rows: dict[int, int] = {}
    counts: dict[int, int] = {}
    present = Device.objects.filter(node_id__in=nodes, retired_at=None).order_by("node_id", "index")
    for pk, node in present.values_list("pk", "node_id"):
        rows[pk] = counts.get(node, 0)
        counts[node] = rows[pk] + 1
    return rows
