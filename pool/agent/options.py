"""Command line options that the agent and the simulated fleet share."""

import argparse
import logging
import os
import socket
import ssl
from pathlib import Path
from typing import Any

from pool.agent.link import Server


def count(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 4096:
        raise argparse.ArgumentTypeError(f"{text}: between 0 and 4096 devices")
    return number


def address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or not 0 < int(port) < 65_536:
        raise argparse.ArgumentTypeError(f"{text}: give host:port, such as weir.example:8010")
    return host.strip("[]"), int(port)


def add_connection(parse: argparse.ArgumentParser) -> None:
    parse.add_argument("--server", type=address, required=True, help="host:port of the gateway")
    parse.add_argument("--token", help="join token; or in WEIR_JOIN_TOKEN, which `ps` does not show")
    parse.add_argument("--token-file", type=Path, help="file that holds the join token")
    parse.add_argument("--site", default="", help="site to join; must be the token's (default: the token's)")
    parse.add_argument("--tls", action="store_true", help="speak TLS and check the server's certificate")
    parse.add_argument("--tls-ca", type=Path, help="file with the authority that signed it (implies --tls)")
    parse.add_argument("--tls-cert", type=Path, help="our certificate, with --tls-key")
    parse.add_argument("--tls-key", type=Path)
    parse.add_argument("--log-level", default="INFO", choices=["DEBUG", "INFO", "WARNING", "ERROR"])


def add_place(parse: argparse.ArgumentParser) -> None:
    for name in ("pod", "switch", "rack"):
        parse.add_argument(f"--{name}", help=f"{name} that the node is in")
    parse.add_argument("--label", action="append", default=[], metavar="NAME=VALUE")
    parse.add_argument("--cpu-milli", type=int, default=0, help="CPU to offer (default: all)")
    parse.add_argument("--memory-mib", type=int, default=0, help="memory to offer (default: all)")
    parse.add_argument("--address", default="", help="under which other nodes reach this one")


def token(arguments: argparse.Namespace) -> str | None:
    """Raises OSError for a token file that cannot be read."""
    if arguments.token_file:
        return str(arguments.token_file.read_text().strip())
    return arguments.token or os.environ.get("WEIR_JOIN_TOKEN") or None


def server(arguments: argparse.Namespace) -> Server:
    host, port = arguments.server
    if not (arguments.tls or arguments.tls_ca or arguments.tls_cert):
        return Server(host, port)
    context = ssl.create_default_context(cafile=arguments.tls_ca)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    if arguments.tls_cert:
        context.load_cert_chain(arguments.tls_cert, arguments.tls_key)
    return Server(host, port, context)


def node_facts(arguments: argparse.Namespace) -> dict[str, Any]:
    """Raises ValueError for a label without a value."""
    labels = {"address": arguments.address or _own_address(arguments.server)}
    for label in arguments.label:
        name, equals, value = label.partition("=")
        if not equals or not name:
            raise ValueError(f"--label {label}: give NAME=VALUE")
        labels[name] = value
    return {
        "name": arguments.node,
        "cpu_milli": arguments.cpu_milli or 1000 * (os.cpu_count() or 1),
        "memory_mib": arguments.memory_mib or _memory_mib(),
        "labels": labels,
        "pod": arguments.pod,
        "switch": arguments.switch,
        "rack": arguments.rack,
    }


def configure_logs(arguments: argparse.Namespace) -> None:
    logging.basicConfig(level=arguments.log_level, format="%(asctime)s %(levelname)s %(name)s %(message)s", force=True)


def host_name() -> str:
    return socket.gethostname().split(".")[0]


def _memory_mib() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1 << 20)


def _own_address(target: tuple[str, int]) -> str:
    """The address that packets to the server leave from; nothing is sent to find out."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(target)
            return str(probe.getsockname()[0])
    except OSError:
        return "127.0.0.1"
