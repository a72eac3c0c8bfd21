"""`manage.py gateway`: the process that agents dial in to."""

import asyncio
import signal
import ssl
import sys
from functools import partial
from typing import Any

import uvloop
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from console.common import memory
from pool.nodes.gateway.server import Gateway
from pool.nodes.options import from_settings


class Command(BaseCommand):
    help = "Serves the agents of the nodes on WEIR_GATEWAY_HOST:WEIR_GATEWAY_PORT. SIGUSR1: tell timings now."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-frames", action="store_true", help="build no heatmap frames in this process")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_serve(frames=not options["no_frames"]))
        except ssl.SSLError as error:
            raise CommandError(f"gateway: the TLS certificate or key does not work: {error}") from None
        except OSError as error:
            where = f"{settings.WEIR_GATEWAY_HOST}:{settings.WEIR_GATEWAY_PORT}"
            raise CommandError(f"gateway: cannot serve on {where}: {error.strerror or error}") from None


async def _serve(*, frames: bool) -> None:
    sys.setswitchinterval(0.0002)  # a thread that holds the database's lock gets its turn soon
    memory.settle()
    gateway = Gateway(from_settings(), settings.REDIS_URL, frames=frames)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, gateway.stop)
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, partial(gateway.tell_stats, asked=True))
    try:
        await gateway.run()
    finally:
        gateway.tell_stats()
