"""Short ways to write engine data, and random small cases for hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from pool.engine import DeviceSpec, Hold, JobRequest, NodeSpec, ReplicaRequest, RoleRequest
from pool.engine.mig_tables import FAMILIES

FAMILY_ROWS: dict[str, Any] = {
    family.key: (
        family.units,
        family.slices,
        [(p.name, p.compute_slices, p.units, p.starts, p.max_instances, p.memory_mib) for p in family.profiles],
    )
    for family in FAMILIES.values()
}


def card(key: int, model: str = "A", memory: int = 24_576, **more: Any) -> DeviceSpec:
    """A card; its index is the last two digits of its key."""
    return DeviceSpec(key, key % 100, model, memory, **more)


def a100(key: int, **more: Any) -> DeviceSpec:
    """An A100 of 40 GB that may be cut."""
    return card(key, "A100", 40_960, mig_family="A100-40GB", mig_enabled=True, **more)


def node(key: int, *cards: DeviceSpec, cpu: int = 64_000, memory: int = 262_144, **more: Any) -> NodeSpec:
    """A node at a site without further structure."""
    return NodeSpec(key, f"n{key}", "s", "p", "sw", "r", cpu, memory, cards, **more)


def whole(node_key: int, device_key: int, memory: int = 24_576, **more: Any) -> Hold:
    """A hold of a whole card."""
    return Hold(device_key, node_key, 10_000, memory, "exclusive", "", -1, 0, "t9", "g9", 0, 0, **more)


def nodes(count: int, per_node: int, **more: Any) -> list[NodeSpec]:
    """Equal nodes of equal cards: keys 1.., cards 100, 101, .., 200, .."""
    return [node(k, *(card(100 * k + i, **more) for i in range(per_node))) for k in range(1, count + 1)]


def job(request: ReplicaRequest, replicas: int = 1, least: int | None = None, **more: Any) -> JobRequest:
    """A job of one role; ``least`` None: all of its replicas."""
    least = replicas if least is None else least
    values: dict[str, Any] = {"key": 1, "tenant": "t1", "trust_group": "g1"} | more
    return JobRequest(roles=(RoleRequest("w", request, replicas, least),), min_member=least, **values)


@st.composite
def fleets(draw: st.DrawFn) -> list[NodeSpec]:
    """One to four nodes of up to four cards: plain ones, small ones and ones that can be cut."""
    found = []
    for key in range(1, draw(st.integers(1, 4)) + 1):
        kinds = draw(st.lists(st.sampled_from(["A", "B", "M", "30"]), min_size=0, max_size=4))
        cards = tuple(_card(100 * key + i, kind, draw(st.integers(0, 9))) for i, kind in enumerate(kinds))
        cpu, memory = draw(st.sampled_from([0, 8_000, 64_000])), draw(st.sampled_from([16_384, 262_144]))
        found.append(node(key, *cards, cpu=cpu, memory=memory, schedulable=draw(st.integers(0, 9)) > 0))
    return found


def _card(key: int, kind: str, dice: int) -> DeviceSpec:
    is_open = dice > 0
    if kind == "M":
        return a100(key, schedulable=is_open)
    if kind == "30":
        return card(key, "A30", 24_576, mig_family="A30-24GB", mig_enabled=dice > 3, schedulable=is_open)
    return card(key, kind, 24_576 if kind == "A" else 16_001, schedulable=is_open)


@st.composite
def requests(draw: st.DrawFn) -> ReplicaRequest:
    """Any kind of request that could make sense on such a fleet."""
    kind = draw(st.sampled_from(["cpu", "whole", "unlike", "share", "share", "mig", "mindful"]))
    some: dict[str, Any] = {
        "cpu_milli": draw(st.sampled_from([0, 0, 1_000, 5_000])),
        "host_memory_mib": draw(st.sampled_from([0, 0, 4_096])),
        "models": draw(st.sampled_from([frozenset(), frozenset(), frozenset({"A"}), frozenset({"B", "A100"})])),
    }
    share = draw(st.sampled_from([100, 625, 1_250, 2_500, 3_333, 5_000, 7_500]))
    memory = draw(st.sampled_from([(), (), (2_000,), (12_288,), (16_001,)]))
    if kind == "cpu":
        return ReplicaRequest(0, cpu_milli=1_000, host_memory_mib=some["host_memory_mib"])
    if kind == "whole":
        return ReplicaRequest(draw(st.integers(1, 4)), memory_mib=draw(st.sampled_from([(), (20_000,)])), **some)
    if kind == "unlike":
        whole = draw(st.booleans())
        return ReplicaRequest(
            2, 10_000 if whole else share, memory_mib=(4_000, draw(st.sampled_from([4_001, 16_384]))), **some
        )
    if kind == "share":
        return ReplicaRequest(draw(st.integers(1, 2)), share, memory_mib=memory, isolation="vgpu", **some)
    if kind == "mig":
        name = draw(st.sampled_from(["1g.5gb", "1g.5gb+me", "1g.10gb", "2g.10gb", "3g.20gb", "1g.6gb", "2g.12gb+me"]))
        return ReplicaRequest(draw(st.integers(1, 3)), mig_profile=name, **some)
    return ReplicaRequest(draw(st.integers(1, 2)), share, memory_mib=memory, bandwidth_sensitive=True, **some)
