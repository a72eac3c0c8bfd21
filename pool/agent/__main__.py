"""`python -m pool.agent`: the agent of a GPU node. Needs no Django and no database."""

import argparse
import asyncio
import logging
import signal
import sys
from pathlib import Path

from pool.agent import options
from pool.agent.link import Access, Link, Refused
from pool.agent.lock import LockedElsewhere, hold
from pool.agent.machine import Machine
from pool.agent.simulated import SimulatedDriver, make_cards, make_devices
from pool.agent.store import Store

VERSION = "0.1.0"


def parser() -> argparse.ArgumentParser:
    parse = argparse.ArgumentParser("python -m pool.agent", description="Runs replicas on this machine.")
    options.add_connection(parse)
    parse.add_argument("--node", default=options.host_name(), help="name of this node (default: host name)")
    parse.add_argument("--state-dir", type=Path, required=True, help="folder for what must outlive the agent")
    parse.add_argument("--driver", choices=["simulated"], default="simulated")
    parse.add_argument("--devices", type=options.count, default=8, help="simulated: how many devices")
    parse.add_argument("--model", default="H100-80GB", help="simulated: their model")
    parse.add_argument("--mig", action="store_true", help="simulated: devices are in MIG mode")
    options.add_place(parse)
    return parse


async def run(arguments: argparse.Namespace) -> None:
    devices = make_devices(arguments.node, arguments.devices, arguments.model, arguments.mig)
    store = Store(arguments.state_dir)
    with hold(store.root / "agent.lock"):
        driver = SimulatedDriver(devices, make_cards(devices))
        machine = Machine(store, driver, options.node_facts(arguments))
        await machine.recover()
        access = Access(options.token(arguments), store.credential(), store.save_credential)
        link = Link(
            machine,
            options.server(arguments),
            access,
            site=arguments.site,
            agent=VERSION,
            driver=driver.name,
        )
        work = asyncio.create_task(link.run())
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, work.cancel)
        try:
            await work
        except asyncio.CancelledError:
            logging.getLogger("weir.agent").info("stopping; what runs goes on and the next agent adopts it")


def main() -> int:
    arguments = parser().parse_args()
    options.configure_logs(arguments)
    try:
        asyncio.run(run(arguments))
    except (Refused, LockedElsewhere, ValueError, OSError) as error:
        print(f"weir agent: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
