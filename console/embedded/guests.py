"""Processes that come to the control plane from outside, as any other would: agents, a simulated fleet, its jobs."""

import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from console.embedded.options import BASE_DIR, Options
from console.embedded.spec import Spec

# a model that the simulated fleet does not have: who asks for it gets a real process on this machine
LOCAL_MODEL, LOCAL_DEVICES = "L40S", 8
ELSEWHERE = 10  # simulated nodes and people would be on other machines: they must not take the cores from this one


def node_name() -> str:
    """This machine's name as a node."""
    return socket.gethostname().split(".")[0]


def wishes(options: Options) -> list[str]:
    """What `manage.py prepare` is asked for: demo data, and a join token for an agent without a credential."""
    words = ["--demo-devices", str(options.demo_devices)] if options.demo else []
    if options.agent:
        words += ["--agent-node", node_name()]
        words += [] if (options.home / "agent" / "agent.json").exists() else ["--agent-joins"]
    return words


def specs(options: Options, env: Mapping[str, str], facts: Mapping[str, str], stage: int) -> list[Spec]:
    """The guests that `options` ask for. Join tokens travel in the environment or a file, which `ps` does not show."""
    found = [_agent(options, env, facts, stage)] if options.agent else []
    if options.demo:
        found += [_fleet(options, env, path, stage) for path in sorted((options.home / "demo").glob("*.token"))]
        load = [sys.executable, str(BASE_DIR / "manage.py"), "demo_load"]
        found += [Spec("load", load, stage, env, nice=ELSEWHERE)]
    return found


def _server(options: Options) -> list[str]:
    return ["--server", f"{options.gateway_host}:{options.gateway_port}"]


def _agent(options: Options, env: Mapping[str, str], facts: Mapping[str, str], stage: int) -> Spec:
    words = [
        *(sys.executable, "-m", "pool.agent", *_server(options)),
        *("--state-dir", str(options.home / "agent"), "--node", node_name(), "--rack", "here"),
        *("--driver", "simulated", "--devices", str(LOCAL_DEVICES), "--model", LOCAL_MODEL),
    ]
    return Spec("agent", words, stage, {**env, "WEIR_JOIN_TOKEN": facts.get("agent_token", "")})


def _fleet(options: Options, env: Mapping[str, str], token: Path, stage: int) -> Spec:
    """The nodes of one site; `seed_demo` has written its files: nodes (.json) and join token (.token)."""
    words = [
        *(sys.executable, "-m", "pool.agent.fleet", *_server(options), "--log-level", "WARNING"),
        *("--nodes", str(token.with_suffix(".json")), "--token-file", str(token)),
        *("--state", str(token.with_suffix(".state.json"))),
    ]
    return Spec(f"fleet-{token.stem}", words, stage, env, nice=ELSEWHERE)
