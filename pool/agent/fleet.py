"""`python -m pool.agent.fleet`: thousands of simulated devices in one process, one real connection a node.

Faults on demand: with --control PATH a unix socket takes JSON lines such as
{"do": "fault", "node": "sim-0001", "device": 2, "on": true}, {"do": "silent", "node": ..., "on": true} (reports
stop, the connection stays) and {"do": "cut", "node": ...} (the connection breaks and is dialled again).
"""

import argparse
import asyncio
import json
import logging
import signal
import sys
from pathlib import Path
from typing import Any

from pool.agent import fleet_spec, options, records
from pool.agent.fleet_node import FleetNode
from pool.agent.fleet_spec import NodeSpec
from pool.agent.link import Access, Link, Refused, Server
from pool.agent.simulated import SimulatedDriver, make_cards

log = logging.getLogger("weir.fleet")
DIALS_A_SECOND = 200
STEP_S = 1.0
VERSION = "0.1.0"


class Fleet:
    def __init__(self, specs: list[NodeSpec], server: Server, token: str | None, site: str, state: Path | None) -> None:
        self.cards = make_cards([device for spec in specs for device in spec.devices])
        self.state = state
        self.credentials: dict[str, Any] = (state and records.read(state)) or {}
        self.nodes: dict[str, FleetNode] = {}
        self.drivers: dict[str, SimulatedDriver] = {}
        self.links: dict[str, Link] = {}
        self.refused = 0
        first = 0
        for spec in specs:
            driver = SimulatedDriver(spec.devices, self.cards, first, shared=True)
            first += len(spec.devices)
            node = FleetNode(spec.facts, driver)
            access = Access(token, self.credentials.get(spec.name), self._saver(spec.name))
            link = Link(node, server, access, site=site, agent=VERSION, driver=driver.name)
            self.drivers[spec.name], self.nodes[spec.name], self.links[spec.name] = driver, node, link

    async def run(self) -> None:
        """Until cancelled. Raises Refused when the server lets none of the nodes in."""
        jobs = [asyncio.create_task(self._step())]
        try:
            for number, link in enumerate(self.links.values()):
                jobs.append(asyncio.create_task(self._keep(link)))
                if number % 20 == 19:
                    await asyncio.sleep(20 / DIALS_A_SECOND)
            await asyncio.gather(*jobs)
        finally:
            for job in jobs:
                job.cancel()
            self._save()

    async def _keep(self, link: Link) -> None:
        """One node that is refused does not end the others."""
        try:
            await link.run()
        except Refused as error:
            self.refused += 1
            if self.refused == len(self.links):
                raise
            log.error("%s is not let in: %s", link.host.node()["name"], error)

    async def obey(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client of the control socket."""
        while line := await reader.readline():
            try:
                self.order(json.loads(line))
                answer = "ok"
            except (ValueError, KeyError, TypeError) as error:
                answer = f"refused: {error!r}"
            writer.write(answer.encode() + b"\n")
            await writer.drain()
        writer.close()

    def order(self, order: dict[str, Any]) -> None:
        """Raises KeyError for an unknown node or device, ValueError for an unknown order."""
        name, on = order["node"], bool(order.get("on", True))
        match order["do"]:
            case "fault":
                self.drivers[name].set_fault(int(order["device"]), on)
            case "silent":
                self.links[name].silent = on
            case "cut":
                self.links[name].drop()
            case other:
                raise ValueError(f"{other}: unknown; there are fault, silent and cut")

    async def _step(self) -> None:
        while True:
            self.cards.step()
            self._save()
            await asyncio.sleep(STEP_S)

    def _saver(self, name: str) -> Any:
        def save(credential: str) -> None:
            self.credentials[name] = credential
            self.credentials["*changed"] = True

        return save

    def _save(self) -> None:
        if self.state and self.credentials.pop("*changed", None):
            self.state.touch(mode=0o600, exist_ok=True)
            records.write(self.state, self.credentials)
            self.state.chmod(0o600)


def parser() -> argparse.ArgumentParser:
    parse = argparse.ArgumentParser("python -m pool.agent.fleet", description="A fleet of simulated nodes.")
    options.add_connection(parse)
    parse.add_argument("--nodes", type=Path, help="JSON file with the nodes")
    parse.add_argument("--generate", default="", metavar="nodes=128,devices=8,model=H100-80GB,prefix=sim")
    parse.add_argument("--state", type=Path, help="file that keeps the nodes' credentials")
    parse.add_argument("--control", type=Path, help="unix socket that takes faults on demand")
    return parse


async def run(arguments: argparse.Namespace) -> None:
    specs = fleet_spec.load(arguments.nodes) if arguments.nodes else fleet_spec.generate(arguments.generate)
    fleet = Fleet(specs, options.server(arguments), options.token(arguments), arguments.site, arguments.state)
    log.info("%d nodes with %d devices", len(specs), len(fleet.cards.memory))
    work = asyncio.create_task(fleet.run())
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, work.cancel)
    if arguments.control:
        arguments.control.unlink(missing_ok=True)
        await asyncio.start_unix_server(fleet.obey, arguments.control)
    try:
        await work
    except asyncio.CancelledError:
        log.info("stopping")


def main() -> int:
    arguments = parser().parse_args()
    options.configure_logs(arguments)
    try:
        asyncio.run(run(arguments))
    except (Refused, ValueError, OSError) as error:
        print(f"weir fleet: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
