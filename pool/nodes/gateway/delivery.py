"""Hands commands from the outbox to the nodes: at once when told, and once a second whatever happens."""

import asyncio
import uuid
from collections.abc import Mapping

import structlog
from django.db import DatabaseError

from console.common import clock
from pool.agent.protocol import ProtocolError
from pool.nodes.gateway.connection import Connection
from pool.nodes.gateway.database import DatabaseThread
from pool.nodes.services import fail_command
from pool.scheduling.models import NodeCommand
from pool.scheduling.services import claim_commands

log = structlog.get_logger(__name__)
SWEEP_S = 1.0
LIMIT = 100


class Delivery:
    def __init__(self, database: DatabaseThread, connections: Mapping[int, Connection]) -> None:
        self._database, self._connections = database, connections
        self._woken: set[int] = set()
        self._wake = asyncio.Event()

    def wake(self, node_ids: list[int]) -> None:
        """For nodes of other gateways this is nothing."""
        mine = [node_id for node_id in node_ids if node_id in self._connections]
        if mine:
            self._woken.update(mine)
            self._wake.set()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        sweep_at = loop.time()
        while True:
            try:
                # not wait_for: on Python 3.11 it may swallow a cancellation
                async with asyncio.timeout_at(sweep_at):
                    await self._wake.wait()
                due: set[int] | None = self._woken
                self._woken = set()
            except TimeoutError:
                due, sweep_at = None, loop.time() + SWEEP_S
            self._wake.clear()
            try:
                await self._deliver(await self._database.run(open_nodes) if due is None else due)
            except DatabaseError as error:
                log.warning("commands_not_read", error=str(error))

    async def _deliver(self, nodes: set[int]) -> None:
        node_ids = nodes & self._connections.keys()
        while node_ids:
            claim = uuid.uuid4().hex
            commands = await self._database.run(claim_commands, list(node_ids), claim, clock.now(), LIMIT)
            for command in commands:
                await self._send(command)
            if len(commands) < LIMIT:
                return

    async def _send(self, command: NodeCommand) -> None:
        connection = self._connections.get(command.node_id)
        if connection is None:  # gone since the claim: it is due again when the node is back
            return
        try:
            connection.send(message_of(command))
        except ProtocolError as error:
            log.error("command_not_sendable", command=command.public_id, error=str(error))
            await self._database.run(fail_command, command, f"the start command cannot be sent: {error}")


def open_nodes() -> set[int]:
    """Nodes with a command that was not confirmed: few, however many nodes there are."""
    states = [NodeCommand.State.PENDING, NodeCommand.State.SENT]
    return set(NodeCommand.objects.filter(state__in=states).values_list("node_id", flat=True).distinct())


def message_of(command: NodeCommand) -> dict[str, object]:
    """What goes over the wire for a row of the outbox."""
    payload = command.payload
    base = {"type": command.kind, "command": command.public_id, "replica": payload["replica"]}
    if command.kind == NodeCommand.Kind.START:
        return {**base, "work": payload}
    save = {name: payload[name] for name in ("signal", "signal_s") if name in payload}
    return {**base, "grace_s": payload.get("grace_s", 10), "reason": str(payload.get("reason", ""))[:80], **save}
