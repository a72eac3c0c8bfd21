"""The simulated fleet as plain data: two sites of racks of eight nodes of eight cards."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pool.agent.simulated import make_devices
from pool.inventory.importing import DomainDraft, FleetDraft, SiteDraft
from pool.inventory.services.reports import read_report

CARDS: Final = 8  # a node
NODES: Final = 8  # a rack
_RACKS_A_SWITCH: Final = 2
_SWITCHES_A_POD: Final = 4


@dataclass(frozen=True, slots=True)
class DemoSite:
    """`mig_node`: the node of each rack whose cards are cut by MIG."""

    name: str
    prefix: str
    model: str
    fabric: str
    memory_mib: int
    mig_node: int

    def file(self, home: Path, kind: str) -> Path:
        """`kind`: json (the nodes), token, or state.json (credentials, kept by the fleet process)."""
        return home / "demo" / f"{self.name}.{kind}"


SITES: Final = (
    DemoSite("cn-sz-1", "sz", "H100-80GB", "NDR200", 2_097_152, mig_node=5),
    DemoSite("cn-bj-2", "bj", "A100-40GB", "RoCE v2", 1_048_576, mig_node=7),
)
MODELS: Final = tuple(site.model for site in SITES)


def nodes_of(site: DemoSite, devices: int) -> list[dict[str, Any]]:
    """The site's half of a fleet of `devices` cards, as its agents report it."""
    count = -(-devices // CARDS)
    mine = (count + 1) // 2 if site is SITES[0] else count // 2
    return [_node(site, number) for number in range(mine)]


def draft(site: DemoSite, nodes: list[dict[str, Any]]) -> FleetDraft:
    """The same as a fleet to import, with the topology above the nodes."""
    racks = sorted({(node["rack"], node["switch"], node["pod"]) for node in nodes})
    pods = sorted({pod for _, _, pod in racks})
    switches = sorted({(switch, pod) for _, switch, pod in racks})
    return FleetDraft(
        sites=(SiteDraft(site.name, provider="own", residency="CN", fabric=site.fabric),),
        domains=(
            *(DomainDraft(site.name, "pod", pod) for pod in pods),
            *(DomainDraft(site.name, "switch", switch, ("pod", pod)) for switch, pod in switches),
            *(DomainDraft(site.name, "rack", rack, ("switch", switch)) for rack, switch, _ in racks),
        ),
        nodes=tuple(read_report(node, site.name) for node in nodes),
        name=f"demo fleet of {site.name}",
        format="demo",
    )


def _node(site: DemoSite, number: int) -> dict[str, Any]:
    rack, place = divmod(number, NODES)
    switch = rack // _RACKS_A_SWITCH
    name = f"{site.prefix}-r{rack + 1:02d}-n{place + 1:02d}"
    cards = make_devices(name, CARDS, site.model, mig=place + 1 == site.mig_node)
    return {
        "name": name,
        "cpu_milli": 128_000,
        "memory_mib": site.memory_mib,
        "labels": {"address": name, "simulated": "true"},
        "pod": f"pod-{switch // _SWITCHES_A_POD + 1}",
        "switch": f"leaf-{switch + 1:02d}",
        "rack": f"r{rack + 1:02d}",
        "devices": [card.as_message() for card in cards],
    }
