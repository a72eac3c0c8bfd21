"""The environment in which a replica runs: its slice, its place in the gang, and what the user asked for."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pool.agent.driver import Slice

# a replica must not inherit what the agent was started with: tokens and paths are in there
BASE: Final = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
RESERVED: Final = frozenset(
    {
        "CUDA_VISIBLE_DEVICES",
        "NVIDIA_VISIBLE_DEVICES",
        "CUDA_DEVICE_ORDER",
        "RANK",
        "LOCAL_RANK",
        "WORLD_SIZE",
        "MASTER_ADDR",
        "MASTER_PORT",
    }
)
RESERVED_PREFIXES: Final = ("WEIR_", "CUDA_MPS_")
OPEN_PREFIX: Final = "WEIR_SIM_"  # what steers a simulated run is the user's to set


def compose(work: Mapping[str, Any], parts: Sequence[Slice], visible: Sequence[str], home: str) -> dict[str, str]:
    """Everything for one replica. `visible` names its devices in the order of `parts`."""
    env = {**BASE, "HOME": home, **allowed(work["environment"]), "WEIR_CHECKPOINT_FILE": checkpoint_file(home)}
    env.update(_job(work))
    env.update(_gang(work))
    env.update(_devices(parts, visible))
    return env


def allowed(asked: Mapping[str, Any]) -> dict[str, str]:
    """The user's variables without names that are ours, and without what no environment can hold."""
    found = {}
    for name, value in asked.items():
        text = value if isinstance(value, str) else json.dumps(value)
        if not name or "=" in name or "\0" in name or "\0" in text:
            continue
        if not name.startswith(OPEN_PREFIX) and (name in RESERVED or name.startswith(RESERVED_PREFIXES)):
            continue
        found[name] = text
    return found


def _job(work: Mapping[str, Any]) -> dict[str, str]:
    return {
        "WEIR_JOB": str(work["job"]),
        "WEIR_JOB_NAME": str(work.get("job_name", "")),
        "WEIR_REPLICA": str(work["replica"]),
        "WEIR_ATTEMPT": str(work.get("attempt", 1)),
        "WEIR_ROLE": str(work.get("role", "")),
        "WEIR_ROLE_RANK": str(work.get("role_rank", 0)),
    }


def checkpoint_file(home: str) -> str:
    """The file that a replica writes or touches each time its state has been saved."""
    return f"{home}/.checkpoint"


def _gang(work: Mapping[str, Any]) -> dict[str, str]:
    peers = sorted(work.get("peers") or [], key=lambda peer: int(peer.get("rank", 0)))
    addresses = [str(peer.get("address") or peer.get("node") or "") for peer in peers]
    rank = str(work["rank"])
    return {
        "WEIR_RANK": rank,
        "RANK": rank,
        "LOCAL_RANK": "0",  # one replica is one process group on one node
        "WORLD_SIZE": str(work["world_size"]),
        "MASTER_ADDR": addresses[0] if addresses else "127.0.0.1",
        "MASTER_PORT": str(_port(f"{work['job']}/{work.get('attempt', 1)}")),
        "WEIR_PEERS": ",".join(addresses),
    }


def _port(key: str) -> int:
    """The same on every node of a gang, and below the range that Linux hands out by itself (32768)."""
    return 20_000 + int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") % 12_000


def _devices(parts: Sequence[Slice], visible: Sequence[str]) -> dict[str, str]:
    env = {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": ",".join(visible),
        "NVIDIA_VISIBLE_DEVICES": ",".join(visible) or "void",
    }
    shared = [part for part in parts if part.isolation == "vgpu"]
    if shared:
        # MPS takes whole per cents: rounded down, so that shares of a card never sum above it
        percent = max(1, min(part.share_bp for part in shared) // 100)
        env["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = str(percent)
        env["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] = ",".join(
            f"{number}={part.memory_mib}M" for number, part in enumerate(parts) if part.isolation == "vgpu"
        )
    return env
