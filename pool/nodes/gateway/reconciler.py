"""Makes our list of what runs and each node's own list one: at its hello, and after every report."""

from collections.abc import Iterable, Mapping
from datetime import datetime

import structlog
from django.db import DatabaseError

from console.common import clock
from pool.agent.protocol import State
from pool.nodes.gateway.connection import Connection
from pool.nodes.gateway.database import DatabaseThread
from pool.nodes.gateway.live import Live
from pool.nodes.services import StaleSession, compare, lose_replica, nodes_with_faults, set_faults, set_reachable

log = structlog.get_logger(__name__)
STRIKES = 2  # reports in a row that must miss a replica: the first may have crossed the start's confirmation
GONE = "the node has no trace of this replica"
NOT_OURS = "this replica does not belong here"
BATCH = 128


class Reconciler:
    def __init__(self, database: DatabaseThread, live: Live) -> None:
        self._database, self._live = database, live
        self._blocked: dict[Connection, set[str]] = {}

    async def greet(self, connection: Connection) -> None:
        """Right after a hello: what the node has on disk is all there is. Raises DatabaseError, StaleSession."""
        difference = (await self._database.run(compare, {connection.node_id: connection.listed}))[connection.node_id]
        for replica in difference.unknown:
            connection.stop(replica, NOT_OURS)
        for replica in difference.missing:
            await self._lose(connection, replica, await self.proof_of(connection))
        self._blocked[connection] = set(difference.unknown)
        if connection.listed or difference.missing:
            log.info(
                "node_reconciled",
                node=connection.session.name,
                adopted=len(difference.adopted),
                lost=len(difference.missing),
                unknown=len(difference.unknown),
            )

    async def proof_of(self, connection: Connection) -> datetime:
        """When the node was last known to live before this session."""
        seen = await self._live.last_seen([connection.node_id])
        floor = connection.session.proof_at or connection.last_report_at
        return min(max(floor, seen.get(connection.node_id, floor)), clock.now())

    async def round(self, connections: list[Connection]) -> None:
        """After reports of these connections. A database that is away leaves it to the next report."""
        for first in range(0, len(connections), BATCH):
            try:
                await self._check(connections[first : first + BATCH])
                await self._faults(connections[first : first + BATCH])
            except DatabaseError as error:
                log.warning("nodes_not_reconciled", error=str(error))

    def forget(self, connection: Connection) -> None:
        self._blocked.pop(connection, None)

    async def _faults(self, batch: list[Connection]) -> None:
        """A device that turned faulty leaves the pool; one that recovered comes back."""
        fresh = [connection.node_id for connection in batch if connection.faults is None]
        marked = await self._database.run(nodes_with_faults, fresh) if fresh else set()
        for connection in batch:
            if connection.faults is None and connection.node_id not in marked:
                connection.faults = frozenset()
            flagged = connection.flagged
            if flagged == connection.faults:
                continue
            changed = await self._database.run(set_faults, connection.node_id, flagged)
            connection.faults = flagged
            if changed:
                log.warning("device_faults", node=connection.session.name, devices=sorted(flagged))

    async def _check(self, batch: list[Connection]) -> None:
        listed = {connection.node_id: dict(connection.listed) for connection in batch}
        differences = await self._database.run(compare, listed)
        clean = []
        for connection in batch:
            difference = differences[connection.node_id]
            for replica in difference.unknown:
                connection.stop(replica, NOT_OURS)
            await self._strike(connection, difference.missing)
            if self._is_clean(connection, listed[connection.node_id]):
                clean.append(connection)
        await self._open(clean)

    async def _strike(self, connection: Connection, missing: Iterable[str]) -> None:
        strikes = {name: connection.missing.get(name, 0) + 1 for name in missing}
        connection.missing = strikes
        for name in [name for name, count in strikes.items() if count >= STRIKES]:
            proof_at = connection.seen.get(name) or await self.proof_of(connection)
            await self._lose(connection, name, proof_at)
        if len(connection.seen) > 64 + 4 * len(connection.listed):
            keep = connection.listed.keys() | strikes.keys()
            connection.seen = {name: at for name, at in connection.seen.items() if name in keep}

    def _is_clean(self, connection: Connection, listed: Mapping[str, State]) -> bool:
        """Whether the node has ended what it ran against our will: until then it takes no new work."""
        running = {name for name, state in listed.items() if state is not State.EXITED}
        blocked = self._blocked.get(connection, set()) & running
        self._blocked[connection] = blocked
        return not blocked

    async def _open(self, clean: list[Connection]) -> None:
        closed = [connection for connection in clean if not connection.reachable]
        if closed:
            await self._database.run(set_reachable, [connection.node_id for connection in closed], True)
            for connection in closed:
                connection.reachable = True

    async def _lose(self, connection: Connection, replica: str, proof_at: datetime) -> None:
        session, now = connection.session, clock.now()
        try:
            lost = await self._database.run(lose_replica, session.node_id, session.number, replica, proof_at, now, GONE)
        except StaleSession:
            connection.close()
            return
        if lost:
            log.warning("replica_lost", node=session.name, replica=replica)
