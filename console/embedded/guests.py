"""Processes that come to the control plane from outside, as any other would: agents, a simulated fleet, its jobs."""

import socket
import sys
from collections.abc import Mapping

from console.embedded.options import BASE_DIR, Options
from console.embedded.spec import Spec

# a model that the simulated fleet does not have: who asks for it gets a real process on this machine
LOCAL_MODEL, LOCAL_DEVICES = "L40S", 8
FLEET_DEVICES_A_NODE = 8


def node_name() -> str:
    """This machine's name as a node."""
    return socket.gethostname().split(".")[0]


def wishes(options: Options) -> list[str]:
    """What `manage.py prepare` is asked for: demo data, and join tokens for who has no credential yet."""
    words = ["--demo"] if options.demo else []
    if options.agent:
        words += ["--agent-node", node_name()]
        words += [] if (options.home / "agent" / "agent.json").exists() else ["--agent-joins"]
    if options.demo:
        words += ["--fleet-nodes", str(options.demo_devices // FLEET_DEVICES_A_NODE)]
    return words


def specs(options: Options, env: Mapping[str, str], facts: Mapping[str, str], stage: int) -> list[Spec]:
    """The guests that `options` ask for. Join tokens travel in the environment, which `ps` does not show."""
    found = [_agent(options, env, facts, stage)] if options.agent else []
    if options.demo:
        found += [_fleet(options, env, facts, stage), _load(env, stage)]
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


def _fleet(options: Options, env: Mapping[str, str], facts: Mapping[str, str], stage: int) -> Spec:
    nodes = options.demo_devices // FLEET_DEVICES_A_NODE
    words = [
        *(sys.executable, "-m", "pool.agent.fleet", *_server(options)),
        *("--generate", f"nodes={nodes},devices={FLEET_DEVICES_A_NODE},model=H100-80GB,prefix=demo"),
        *("--state", str(options.home / "demo-fleet.json"), "--log-level", "WARNING"),
    ]
    return Spec("fleet", words, stage, {**env, "WEIR_JOIN_TOKEN": facts.get("fleet_token", "")})


def _load(env: Mapping[str, str], stage: int) -> Spec:
    return Spec("load", [sys.executable, str(BASE_DIR / "manage.py"), "demo_load"], stage, env)
