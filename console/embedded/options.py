"""What a person may say to `manage.py up`, as plain data."""

import argparse
import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Options:
    """`home` is the data folder; ports are TCP on `host` (console) and on the gateway's host (agents)."""

    home: Path
    host: str
    port: int
    gateway_host: str
    gateway_port: int
    demo: bool
    demo_devices: int
    agent: bool
    verbose: bool
    min_free_mib: int

    @property
    def url(self) -> str:
        # passkeys refuse 127.0.0.1, so the printed address is always localhost where that reaches us
        return f"http://{'localhost' if _reached_by_localhost(self.host) else self.host}:{self.port}"


def parser() -> argparse.ArgumentParser:
    parse = argparse.ArgumentParser(prog="manage.py up", description="Start Weir on this machine and keep it running.")
    parse.add_argument("--host", default=os.environ.get("WEIR_HOST", "localhost"), help="address of the console")
    parse.add_argument("--port", type=_port, default=_port(os.environ.get("WEIR_PORT", "8000")), help="its port")
    parse.add_argument("--demo", action="store_true", help="add a demo tenant, a simulated fleet and a life of jobs")
    parse.add_argument("--demo-devices", type=_devices, default=1024, help="size of the simulated fleet (default 1024)")
    parse.add_argument(
        "--agent",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="run work on this machine too, on simulated devices (default: with --demo)",
    )
    parse.add_argument("--verbose", action="store_true", help="show every log line of every process")
    parse.add_argument(
        "--min-free-mib",
        type=int,
        default=256,
        metavar="MIB",
        help="refuse to start with less free disk space",
    )
    return parse


def parse(argv: list[str]) -> Options:
    """Reads `argv` and the environment (WEIR_HOME, WEIR_HOST, WEIR_PORT, WEIR_GATEWAY_HOST, WEIR_GATEWAY_PORT)."""
    given = parser().parse_args(argv)
    return Options(
        home=Path(os.environ.get("WEIR_HOME") or BASE_DIR / "var").resolve(),
        host=given.host,
        port=given.port,
        gateway_host=os.environ.get("WEIR_GATEWAY_HOST", "127.0.0.1"),
        gateway_port=_port(os.environ.get("WEIR_GATEWAY_PORT", "8010")),
        demo=given.demo,
        demo_devices=given.demo_devices,
        agent=given.demo if given.agent is None else given.agent,
        verbose=given.verbose,
        min_free_mib=given.min_free_mib,
    )


def _reached_by_localhost(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return address.is_loopback or address.is_unspecified


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; use a whole number from 1 to 65535")
    return int(text)


def _devices(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 16 <= int(text) <= 100_000 or int(text) % 16:
        raise argparse.ArgumentTypeError(f"{text!r} is not a fleet size; use a multiple of 16 from 16 to 100000")
    return int(text)
