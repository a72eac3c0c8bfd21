"""Devices that exist only as numbers, thousands in one array, with telemetry that follows what runs on them.

A card's utilisation wanders around the level of its jobs, its memory is what they hold, its power goes from
idle to the board's limit with utilisation, and its temperature follows power with inertia. The bounds (idle
power a tenth of the limit, 30 °C at rest, about 75 °C at the limit, a time constant of 40 s) are typical of
air-cooled data-centre cards; no single product is meant.
"""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pool.agent.driver import DeviceFacts, Slice
from pool.agent.instances import Instances
from pool.agent.protocol import FLAG_FAULT, TELEMETRY

AMBIENT_C, RISE_C, INERTIA_S = 30.0, 45.0, 40.0
IDLE_POWER, NOISE, RESERVED = 0.1, 0.06, 0.005
Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Model:
    vendor: str
    memory_mib: int
    power_w: int
    mig_family: str = ""


MODELS: Final[dict[str, Model]] = {
    "H100-80GB": Model("nvidia", 81559, 700, "H100-80GB"),
    "H200-141GB": Model("nvidia", 143771, 700, "H200-141GB"),
    "H800-80GB": Model("nvidia", 81559, 700, "H100-80GB"),
    "A100-80GB": Model("nvidia", 81920, 400, "A100-80GB"),
    "A100-40GB": Model("nvidia", 40960, 400, "A100-40GB"),
    "A30": Model("nvidia", 24576, 165, "A30-24GB"),
    "A10": Model("nvidia", 22731, 150),
    "L40S": Model("nvidia", 46068, 350),
    "T4": Model("nvidia", 15109, 70),
    "V100M32": Model("nvidia", 32510, 300),
    "V100M16": Model("nvidia", 16160, 300),
    "P100": Model("nvidia", 16280, 250),
    "G2": Model("unknown", 20000, 250),
    "G3": Model("unknown", 30000, 250),
}


class Cards:
    """The state of many devices. `step` moves all of them at once; `rows` reads a range of them."""

    def __init__(
        self, memory_mib: Sequence[int], power_w: Sequence[int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        count = len(memory_mib)
        self.memory = np.asarray(memory_mib, np.float64)
        self.limit = np.asarray(power_w, np.float64)
        self.level: Floats = np.zeros(count)  # what the jobs of a card ask of it, 0 to 1
        self.held: Floats = np.zeros(count)  # MiB in use by them
        self.util: Floats = np.zeros(count)
        self.temperature: Floats = np.full(count, AMBIENT_C)
        self.fault = np.zeros(count, bool)
        self._rows = np.zeros(count, TELEMETRY)
        self._random = np.random.default_rng(count)
        self._clock = clock
        self._at = clock()
        self._uses: dict[str, list[tuple[int, float, float]]] = {}
        self._render(np.full(count, IDLE_POWER))

    def attach(self, replica: str, parts: Sequence[tuple[int, float, float]], level: float) -> None:
        """`parts`: (card, share of it 0 to 1, MiB held); `level`: how hard the job drives its share, 0 to 1."""
        self.detach(replica)
        uses = [(card, share * level, memory * (0.55 + 0.4 * level)) for card, share, memory in parts]
        self._uses[replica] = uses
        for card, load, memory in uses:
            self.level[card] += load
            self.held[card] += memory

    def detach(self, replica: str) -> None:
        for card, load, memory in self._uses.pop(replica, ()):
            self.level[card] = max(0.0, self.level[card] - load)
            self.held[card] = max(0.0, self.held[card] - memory)

    def step(self) -> None:
        now = self._clock()
        passed, self._at = now - self._at, now
        noise = self._random.normal(0.0, NOISE, len(self.level)) * np.sqrt(self.level)
        target = np.clip(self.level + noise, 0.0, 1.0)
        self.util += (target - self.util) * min(1.0, passed / 1.5)
        drawn = IDLE_POWER + (1.0 - IDLE_POWER) * self.util**0.9
        rest = AMBIENT_C + RISE_C * drawn
        self.temperature += (rest - self.temperature) * (1.0 - np.exp(-passed / INERTIA_S))
        self._render(drawn)

    def rows(self, first: int, count: int) -> bytes:
        return self._rows[first : first + count].tobytes()

    def _render(self, drawn: Floats) -> None:
        alive = ~self.fault
        self._rows["util"] = (self.util * 10_000 * alive).astype(np.uint16)
        self._rows["memory"] = np.minimum(self.held + RESERVED * self.memory, self.memory) * alive
        self._rows["temp"] = (self.temperature * 10).astype(np.uint16)
        self._rows["power"] = (drawn * self.limit * alive).astype(np.uint16)
        self._rows["flags"] = np.where(self.fault, FLAG_FAULT, 0)


class SimulatedDriver:
    """A driver over a range of `cards`: all of one node's own, or a node's part of a fleet's."""

    name = "simulated"

    def __init__(self, facts: Sequence[DeviceFacts], cards: Cards, first: int = 0, shared: bool = False) -> None:
        self._facts, self._cards, self._first, self._shared = facts, cards, first, shared
        self._place = {fact.index: first + number for number, fact in enumerate(facts)}
        self._uuid = {fact.index: fact.uuid for fact in facts}
        self.instances = Instances()

    def devices(self) -> Sequence[DeviceFacts]:
        return self._facts

    def visible(self, part: Slice) -> str:
        uuid = self._uuid[part.index]
        return f"MIG-{uuid}/{part.mig_start}/0" if part.isolation == "mig" else uuid

    def attach(self, replica: str, parts: Sequence[Slice], environment: Mapping[str, str]) -> None:
        self.instances.make(replica, parts)
        known = [part for part in parts if part.index in self._place]
        uses = [(self._place[part.index], part.share_bp / 10_000, float(part.memory_mib)) for part in known]
        self._cards.attach(replica, uses, level_of(environment))

    def detach(self, replica: str) -> None:
        self.instances.end(replica)
        self._cards.detach(replica)

    def telemetry(self) -> bytes:
        if not self._shared:  # a fleet steps all its cards together
            self._cards.step()
        return self._cards.rows(self._first, len(self._facts))

    def set_fault(self, index: int, faulty: bool) -> None:
        self._cards.fault[self._place[index]] = faulty


def level_of(environment: Mapping[str, str]) -> float:
    """How hard a job drives its share: WEIR_SIM_LEVEL (0 to 1), or a level of its own between 0.45 and 0.97."""
    try:
        return min(1.0, max(0.0, float(environment.get("WEIR_SIM_LEVEL", ""))))
    except ValueError:
        pass
    digest = hashlib.sha256(environment.get("WEIR_JOB", "").encode()).digest()
    return 0.45 + 0.52 * digest[0] / 255


def make_devices(node: str, count: int, model: str, mig: bool = False, island: int = 8) -> list[DeviceFacts]:
    """Devices of a simulated node; the same node name always has the same UUIDs. Raises ValueError."""
    if model not in MODELS:
        raise ValueError(f"model {model!r} is unknown to the simulated driver; it knows {', '.join(MODELS)}")
    known = MODELS[model]
    return [
        DeviceFacts(
            index=index,
            uuid=_uuid(node, index),
            model=model,
            vendor=known.vendor,
            memory_mib=known.memory_mib,
            mig_enabled=mig and bool(known.mig_family),
            mig_family=known.mig_family,
            nvlink_island=index // island,
            numa_node=0 if index < (count + 1) // 2 else 1,
            pci_address=f"0000:{0x10 + index:02x}:00.0",
        )
        for index in range(count)
    ]


def make_cards(devices: Sequence[DeviceFacts]) -> Cards:
    power = [MODELS[fact.model].power_w if fact.model in MODELS else 300 for fact in devices]
    return Cards([fact.memory_mib for fact in devices], power)


def _uuid(node: str, index: int) -> str:
    digest = hashlib.sha256(f"{node}/{index}".encode()).hexdigest()
    return f"GPU-{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"
