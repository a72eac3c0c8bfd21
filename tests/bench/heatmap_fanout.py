"""A hundred browsers on the heatmap at one frame a second, over the real server: its CPU, and the frames received.

The web process is uvicorn with console.asgi, as `manage.py up` runs it; the frame builder and the clients are
processes of their own, so that the figure is the web process's alone.
  python -m tests.bench.heatmap_fanout [--browsers 100] [--seconds 60] [--devices 10240]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.bench.heatmap_stack import Telemetry, ground, line, make_fleet

ROUNDS = 5
WARM_S = 6.0
_TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far (proc(5), fields 14 and 15)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def start_web() -> tuple[subprocess.Popen[bytes], int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "console.asgi:application", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--no-access-log", "--log-level", "warning", "--ws-per-message-deflate", "false"]
    web = subprocess.Popen(command)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return web, port
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the web process did not start")


async def browser(port: int, cookie: str, until: float, got: list[int]) -> None:
    from websockets.asyncio.client import connect

    address = f"ws://localhost:{port}/ws/heatmap/?layer=utilisation"
    headers = {"Cookie": f"sessionid={cookie}"}
    async with connect(
        address, additional_headers=headers, origin=f"http://localhost:{port}", compression=None, proxy=None
    ) as client:
        while time.time() < until:
            try:
                data = bytes(await asyncio.wait_for(client.recv(), until - time.time()))
            except TimeoutError:
                return
            if data[1] == 0:  # frames of the layer; those of the marks come beside them
                got.append(int.from_bytes(data[4:8], "little"))


async def browse(port: int, cookie: str, browsers: int, seconds: float) -> list[list[int]]:
    """The sequences that each browser received."""
    got: list[list[int]] = [[] for _ in range(browsers)]
    until = time.time() + seconds
    await asyncio.gather(*(browser(port, cookie, until, each) for each in got))
    return got


def share_received(got: list[list[int]], published: list[int]) -> float:
    """Percent of the frames published while a browser was there that it received, over all browsers."""
    due = had = 0
    for sequences in got:
        there = [number for number in published if number >= sequences[0]] if sequences else published
        due += len(there)
        had += len(set(sequences) & set(there))
    return 100 * had / due


def build(nodes: list[int], seconds: float) -> list[int]:
    """Builds and publishes a frame a second and layer; the sequences of the layer that were published."""
    from channels.layers import get_channel_layer

    from pool.nodes.heatmap import codec, store
    from pool.nodes.heatmap.builder import Builder

    async def run() -> list[int]:
        valkey: Any = store.client()
        telemetry, builder, layer = Telemetry(valkey, nodes), Builder(valkey), get_channel_layer()
        published: list[int] = []
        thread = ThreadPoolExecutor(max_workers=1)
        loop = asyncio.get_running_loop()
        telemetry.all()
        until = time.time() + seconds
        while time.time() < until:
            telemetry.second()
            frames = await loop.run_in_executor(thread, builder.tick, time.time())
            for group, data in frames:
                await layer.group_send(group, {"type": "heatmap.frame", "data": data})
            published += [codec.peek(data)[1] for group, data in frames if group.endswith("utilisation")]
            await asyncio.sleep(1 - time.time() % 1)
        return published

    return asyncio.run(run())


def clients(port: int, cookie: str, browsers: int, seconds: float) -> subprocess.Popen[bytes]:
    code = (
        "import asyncio,sys\nfrom tests.bench.heatmap_fanout import browse\n"
        f"import json; print(json.dumps(asyncio.run(browse({port}, {cookie!r}, {browsers}, {seconds}))))"
    )
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)


def measure(browsers: int, seconds: float, devices: int) -> None:
    from tests import factories
    from tests.live.server import session_of

    nodes = make_fleet(devices)
    cookie = session_of(factories.make_user("bench@example.test", "operator"))
    web, port = start_web()
    try:
        shares, received = [], []
        for _ in range(ROUNDS):
            crowd = clients(port, cookie, browsers, WARM_S + seconds + 12)
            published = build(nodes, WARM_S)  # everybody is in and has a full frame
            before, began = cpu_seconds(web.pid), time.monotonic()
            published += build(nodes, seconds)
            shares.append(100 * (cpu_seconds(web.pid) - before) / (time.monotonic() - began))
            output, _ = crowd.communicate(timeout=90)
            received.append(share_received(json.loads(output), published))
        line(f"web process, {browsers} browsers at 1 Hz, of a core", f"{statistics.median(shares):.1f} %", "limit 5 %")
        line("frames received, over all browsers", f"{statistics.median(received):.2f} %", "at least 99 %")
    finally:
        web.terminate()
        web.wait(10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--browsers", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--devices", type=int, default=10_240)
    given = parser.parse_args()
    with ground():
        measure(given.browsers, given.seconds, given.devices)


if __name__ == "__main__":
    main()
