"""Reports on their way out: the latest state to Valkey once a second, and a packed rollup once a minute."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import structlog
from django.db import DatabaseError

from console.common import clock
from console.common.clock import Clock
from pool.nodes import telemetry
from pool.nodes.gateway.connection import Connection
from pool.nodes.gateway.database import DatabaseThread
from pool.nodes.gateway.live import Live
from pool.nodes.models import NodeRollup
from pool.nodes.services import store_rollups

log = structlog.get_logger(__name__)
PERIOD_S = 60
BATCH = 4  # rows of one transaction, so that it stays short
PAUSE_S = 0.05


@dataclass(slots=True)
class Sum:
    """Of the first four columns of telemetry rows, over `samples` reports."""

    totals: np.ndarray[Any, np.dtype[np.float64]]
    samples: int


class Measures:
    def __init__(self, database: DatabaseThread, live: Live, now: Clock = clock.now) -> None:
        self._database, self._live, self.now = database, live, now
        self._latest: dict[Connection, np.ndarray[Any, Any]] = {}
        self._sums: dict[int, Sum] = {}
        self._period = self._running()
        self._rolling: asyncio.Task[None] | None = None

    def take(self, connection: Connection, devices: np.ndarray[Any, Any]) -> None:
        self._latest[connection] = devices

    async def round(self) -> list[Connection]:
        """Sends out what came since the last round; returns the connections that it came from."""
        latest, self._latest = self._latest, {}
        self._roll_over()
        if not latest:
            return []
        rows = telemetry.convert(
            np.concatenate(list(latest.values())),
            np.concatenate([connection.memory_mib for connection in latest]),
        )
        values, at = {}, 0
        for connection, devices in latest.items():
            mine = rows[at : at + len(devices)]
            at += len(devices)
            values[telemetry.key(connection.node_id)] = telemetry.pack(connection.last_report_at.timestamp(), mine)
            self._add(connection.node_id, mine)
        await self._live.put(values)
        return list(latest)

    def _add(self, node_id: int, rows: telemetry.Rows) -> None:
        known = self._sums.get(node_id)
        if known is None or len(known.totals) != len(rows):
            self._sums[node_id] = Sum(rows[:, :4].astype(np.float64), 1)
            return
        known.totals += rows[:, :4]
        known.samples += 1

    def _running(self) -> int:
        return int(self.now().timestamp()) // PERIOD_S

    def _roll_over(self) -> None:
        period = self._running()
        if period == self._period:
            return
        sums, starts_at = self._sums, datetime.fromtimestamp(self._period * PERIOD_S, UTC)
        self._sums, self._period = {}, period
        if sums:
            self._rolling = asyncio.create_task(self._store(_rows(sums, starts_at)))

    async def _store(self, rows: Iterable[NodeRollup]) -> None:
        batch = list(rows)
        for first in range(0, len(batch), BATCH):
            try:
                await self._database.run(store_rollups, batch[first : first + BATCH])
            except DatabaseError as error:
                log.warning("rollups_not_stored", nodes=len(batch) - first, error=str(error))
                return
            await asyncio.sleep(PAUSE_S)


def _rows(sums: dict[int, Sum], starts_at: datetime) -> list[NodeRollup]:
    rows = []
    for node_id, total in sorted(sums.items()):
        payload = np.empty((len(total.totals), 5), "<u2")
        payload[:, :4] = np.rint(total.totals / total.samples)
        payload[:, 4] = total.samples
        rows.append(NodeRollup(node_id=node_id, period_s=PERIOD_S, starts_at=starts_at, payload=payload.tobytes()))
    return rows
