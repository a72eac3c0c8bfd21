"""Who lives: durable times of reports, nodes that fall silent, leases that end."""

import asyncio
from collections.abc import Iterable, Mapping

import structlog
from django.db import DatabaseError

from console.common import clock
from pool.nodes.gateway.connection import Connection
from pool.nodes.gateway.database import DatabaseThread
from pool.nodes.gateway.live import Live
from pool.nodes.options import GatewayOptions
from pool.nodes.services import flush_reports, lose_node, set_reachable, silent_nodes, stale_nodes
from pool.nodes.services.life import Silent, known_proofs

log = structlog.get_logger(__name__)
BATCH = 24  # rows of one transaction, so that it stays short
# a thread that has just run for long is the first from whom the system takes the core away, in midst of a write
PAUSE_S = 0.01


class Life:
    def __init__(
        self,
        options: GatewayOptions,
        database: DatabaseThread,
        live: Live,
        connections: Mapping[int, Connection],
    ) -> None:
        self._options, self._database, self._live = options, database, live
        self._connections = connections
        self._flushed_at = asyncio.get_running_loop().time()

    def may_renew(self) -> bool:
        """Whether a lease may be renewed: only while our word on who lives reaches the database.

        Another gateway judges by the database alone. It waits `floor_lag_s` longer than the lease for a node that
        we speak for; so long may the row lag behind, and no longer.
        """
        return asyncio.get_running_loop().time() - self._flushed_at < self._options.lease_s / 3

    async def round(self, reported: Iterable[Connection]) -> None:
        try:
            await self._flush(reported)
            await self._mark_stale()
            await self._end_leases()
        except DatabaseError as error:
            log.warning("life_not_recorded", error=str(error))

    async def _flush(self, reported: Iterable[Connection]) -> None:
        now = asyncio.get_running_loop().time()
        # neighbours together: half as many pages to write
        by_node = sorted(reported, key=lambda connection: connection.node_id)
        rows = [(c.last_report_at, c.node_id, c.session.number) for c in by_node]
        for first in range(0, len(rows), BATCH):
            await self._database.run(flush_reports, rows[first : first + BATCH])
            await asyncio.sleep(PAUSE_S)
        self._flushed_at = now

    async def _mark_stale(self) -> None:
        now, stale_s = clock.now(), self._options.stale_s
        gone = [
            connection
            for connection in self._connections.values()
            if connection.reachable and (now - connection.last_report_at).total_seconds() > stale_s
        ]
        mine = set(self._connections)
        stale = await self._database.run(stale_nodes, now, stale_s, mine)
        stale |= {connection.node_id: connection.last_report_at for connection in gone}
        silent = list(stale)
        for first in range(0, len(silent), BATCH):
            changed = await self._database.run(set_reachable, silent[first : first + BATCH], False, stale)
            log.warning("nodes_silent", nodes=changed)
        for connection in gone:
            connection.reachable = False

    async def _end_leases(self) -> None:
        now, lost_s = clock.now(), self._options.lost_s
        for connection in list(self._connections.values()):
            if (now - connection.last_report_at).total_seconds() > lost_s:
                connection.close()  # its end writes the exact time of its last report
        silent = await self._database.run(silent_nodes, now, lost_s, set(self._connections))
        if not silent:
            return
        proofs = known_proofs(silent, await self._live.last_seen([node.node_id for node in silent]))
        for node in silent:
            waited = (now - proofs[node.node_id]).total_seconds()
            if waited > lost_s + self._lag(node):
                lost = await self._database.run(lose_node, node, proofs[node.node_id], now)
                log.warning("node_lost", node_id=node.node_id, replicas=lost, silent_s=round(waited, 1))

    def _lag(self, node: Silent) -> float:
        """An orderly end of a connection left the exact time; a gateway that was killed did not."""
        return self._options.floor_lag_s if node.connected else 0.0
