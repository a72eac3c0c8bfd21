"""Which processes `manage.py up` runs, and how each is started."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from console.embedded import guests, preflight, probes, valkey
from console.embedded.options import BASE_DIR, Options
from console.embedded.spec import Spec

Facts = Mapping[str, str]

# no gossip between workers: it is chatter on a machine with one of each
QUIET = ("--without-gossip", "--without-mingle")
# eight processes share this machine: one thread for NumPy, few malloc arenas, and no system checks, which import
# every page into processes that serve none (25 MB and seconds each)
LEAN = {
    "CELERY_SKIP_CHECKS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "PYTHONUNBUFFERED": "1",
}

VALKEY, GROUND, SERVERS, WORKERS, GUESTS = range(5)  # stages, in the order of their start


@dataclass(frozen=True)
class Plan:
    """`first` start beside `prepare` and wait for `gate`, `rest` when the tables stand, `guests` when those answer."""

    valkey: Spec | None
    prepare: Spec
    first: Sequence[Spec]
    gate: Path
    rest: Sequence[Spec]
    guests: Callable[[Facts], Sequence[Spec]]


def build(options: Options) -> Plan:
    """The plan for this machine: a private Valkey unless REDIS_URL names a server."""
    server = None if os.environ.get("REDIS_URL") else _valkey(options)
    env = {**LEAN, **_addresses(options)}
    if server:
        env["REDIS_URL"] = f"unix://{valkey.socket_path(options.home)}"
    return Plan(
        valkey=server,
        prepare=Spec("prepare", _manage("prepare", *guests.wishes(options)), GROUND, env),
        first=[_web(options, env)],
        gate=gate(options),
        rest=_rest(options, env),
        guests=partial(guests.specs, options, env, stage=GUESTS),
    )


def gate(options: Options) -> Path:
    """The file that tells the web process that the tables are up to date; of this run only."""
    return options.home / "migrated"


def _addresses(options: Options) -> dict[str, str]:
    return {
        "WEIR_HOME": str(options.home),
        "WEIR_URL": options.url,
        "WEIR_GATEWAY_HOST": options.gateway_host,
        "WEIR_GATEWAY_PORT": str(options.gateway_port),
    }


def _manage(*words: str) -> list[str]:
    return [sys.executable, str(BASE_DIR / "manage.py"), *words]


def _celery(*words: str) -> list[str]:
    return [sys.executable, "-m", "celery", "-q", "-A", "console", *words]


def _valkey(options: Options) -> Spec:
    path = valkey.socket_path(options.home)
    return Spec(
        "valkey",
        valkey.command(path, options.home),
        VALKEY,
        probe=probes.valkey(path),
        watched=True,
        quiet=True,  # it warns of the system's memory settings at each start; its end is told anyway
        before=partial(valkey.prepare_socket, path),
    )


def _web(options: Options, env: Mapping[str, str]) -> Spec:
    # only where ::1 can be bound does "localhost" mean both families to the server
    both = len(preflight.addresses(options.host)) > 1
    host = options.host if both else preflight.addresses(options.host)[0][1]
    return Spec(
        "web",
        [
            *(sys.executable, "-m", "console.embedded.web", "--host", host, "--port", str(options.port)),
            *("--gate", str(gate(options))),
        ],
        SERVERS,
        env,
        probe=probes.http(preflight.addresses(options.host)[0][1], options.port, "/healthz"),
        watched=True,
    )


def _rest(options: Options, env: Mapping[str, str]) -> list[Spec]:
    gate = probes.listens(options.gateway_host, options.gateway_port)
    worker = ("worker", "-Q", "default", "-P", "threads", "-c", "2", "-n", "worker@%h", *QUIET)
    return [
        # asked seldom: to the gateway each question looks like an agent that came and went
        Spec("gateway", _manage("gateway", "--skip-checks"), SERVERS, env, probe=gate, watched=True, probe_every=15),
        Spec("scheduler", _manage("scheduler", "--skip-checks"), WORKERS, env),
        Spec("worker", _celery(*worker), WORKERS, env),
        Spec("beat", _celery("beat", "-s", str(options.home / "beat"), "--pidfile="), WORKERS, env),
    ]
