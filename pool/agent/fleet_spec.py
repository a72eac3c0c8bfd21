"""Which nodes a simulated fleet has: read from a file, or generated."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pool.agent.driver import DeviceFacts
from pool.agent.simulated import MODELS, make_devices


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """`facts`: what a hello says of a node, without its devices."""

    facts: dict[str, Any]
    devices: list[DeviceFacts]

    @property
    def name(self) -> str:
        return str(self.facts["name"])


def generate(text: str) -> list[NodeSpec]:
    """From `nodes=128,devices=8,model=H100-80GB,prefix=demo`. Raises ValueError that names the word."""
    values = {"nodes": "4", "devices": "8", "model": "H100-80GB", "prefix": "sim", "racks": "8", "mig": "0"}
    for word in filter(None, text.split(",")):
        name, _, value = word.partition("=")
        if name not in values:
            raise ValueError(f"--generate {word}: {name} is unknown; there are {', '.join(values)}")
        values[name] = value
    per_rack = int(values["racks"])
    specs = []
    for number in range(int(values["nodes"])):
        name = f"{values['prefix']}-{number:04d}"
        rack = number // per_rack
        facts = _facts(name, {"rack": f"r{rack:02d}", "switch": f"s{rack // 4:02d}", "pod": f"p{rack // 16:02d}"})
        mig = values["mig"] not in ("", "0")
        specs.append(NodeSpec(facts, make_devices(name, int(values["devices"]), values["model"], mig)))
    return specs


def load(path: Path) -> list[NodeSpec]:
    """From a JSON list of nodes: name, cpu_milli, memory_mib, labels, pod, switch, rack and devices, each with
    model and, where known, index, uuid, memory_mib, mig_enabled ... Raises ValueError that names node and field."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: not JSON: {error}") from None
    if not isinstance(rows, list):
        raise ValueError(f"{path}: must be a list of nodes")
    return [_read(number, row) for number, row in enumerate(rows)]


def _read(number: int, row: Any) -> NodeSpec:
    where = f"node {number}"
    if not isinstance(row, dict) or not isinstance(row.get("name"), str):
        raise ValueError(f"{where}: must be an object with a name")
    devices = row.get("devices")
    if not isinstance(devices, list):
        raise ValueError(f"{where} ({row['name']}): devices must be a list")
    return NodeSpec(_facts(row["name"], row), [_device(row["name"], *item) for item in enumerate(devices)])


def _device(node: str, number: int, row: Any) -> DeviceFacts:
    model = row.get("model", "")
    known = MODELS.get(model)
    if known is None and not row.get("memory_mib"):
        raise ValueError(f"{node}: device {number}: model {model!r} is unknown: give memory_mib as well")
    given = make_devices(node, number + 1, model)[number] if known else None
    values = {name: row[name] for name in DeviceFacts.__dataclass_fields__ if row.get(name) is not None}
    base = given.as_message() if given else {"index": number, "uuid": f"SIM-{node}-{number}", "vendor": "unknown"}
    return DeviceFacts(**{**base, **values})


def _facts(name: str, row: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "cpu_milli": int(row.get("cpu_milli") or 128_000),
        "memory_mib": int(row.get("memory_mib") or 1_048_576),
        "labels": {"address": name, "simulated": "true", **(row.get("labels") or {})},
        "pod": row.get("pod") or None,
        "switch": row.get("switch") or None,
        "rack": row.get("rack") or None,
    }
