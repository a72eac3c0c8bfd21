"""`python -m console.embedded.web`: the console's server process, ready to answer as soon as the tables stand.

Imports and routes are loaded while the migrations still run; the port is opened once `--gate` exists.
"""

import argparse
import sys
import time
from pathlib import Path

import uvicorn
from django.urls import resolve

from console.asgi import application
from console.common import memory


def parser() -> argparse.ArgumentParser:
    parse = argparse.ArgumentParser(prog="python -m console.embedded.web")
    parse.add_argument("--host", required=True)
    parse.add_argument("--port", type=int, required=True)
    parse.add_argument("--gate", type=Path, help="file that appears when the tables are up to date")
    return parse


def main() -> None:
    given = parser().parse_args()
    sys.setswitchinterval(0.001)  # a thread that holds the database's lock gets its turn soon
    # the first visitor should not wait for all pages to be imported
    resolve("/healthz")
    memory.settle()
    while given.gate and not given.gate.exists():
        time.sleep(0.02)
    uvicorn.run(
        application,
        host=given.host,
        port=given.port,
        access_log=False,
        log_level="warning",
        server_header=False,
        # frames are small and fresh ones replace old ones: compressing or queueing them costs more than it saves
        ws_per_message_deflate=False,
        ws_max_queue=4,
        ws_max_size=65536,
        timeout_graceful_shutdown=3,
    )


if __name__ == "__main__":
    main()
