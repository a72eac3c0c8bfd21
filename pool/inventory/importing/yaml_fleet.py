"""Our own inventory file (docs/inventory.md describes it; docs/examples/fleet.yaml shows one)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from pool.engine.mig_tables import FAMILIES
from pool.inventory.importing.drafts import (
    DomainDraft,
    FleetDraft,
    ModelDraft,
    NodeDraft,
    SiteDraft,
)
from pool.inventory.importing.fields import Table
from pool.inventory.importing.marks import tree
from pool.inventory.importing.problems import Problems
from pool.inventory.importing.yaml_nodes import read_nodes
from pool.inventory.known_models import KNOWN

VERSION: Final = 1
_WORDS: Final = re.compile(r"[^\x00-\x1f\x7f]{1,64}")
_WORDS_RULE: Final = "must be 1 to 64 printable characters"
_COUNTRY: Final = re.compile(r"[A-Z]{2}")
_DOMAINS: Final = (("pods", "pod", ()), ("switches", "switch", ("pod",)), ("racks", "rack", ("switch", "pod")))


@dataclass(slots=True)
class _Fleet:
    """`models`: MiB of one card by model name, those of the file and the known ones."""

    problems: Problems
    models: dict[str, int] = field(default_factory=dict)
    sites: list[SiteDraft] = field(default_factory=list)
    domains: dict[tuple[str, str, str], DomainDraft] = field(default_factory=dict)
    drafts: dict[str, ModelDraft] = field(default_factory=dict)
    nodes: dict[str, NodeDraft] = field(default_factory=dict)


def read(text: str, models: Mapping[str, int]) -> FleetDraft:
    """`models`: MiB of one card of each model known beside `KNOWN`.

    Raises InvalidInput naming line and field of everything that is wrong.
    """
    problems = Problems()
    top = Table(tree(text), "", problems)
    problems.raise_any()
    top.whole("weir", VERSION, VERSION, required=True)
    fleet = _Fleet(problems, {**{name: model.memory_mib for name, model in KNOWN.items()}, **models})
    for table in top.tables("models"):
        _model(table, fleet)
    for table in top.tables("sites", required=True):
        _site(table, fleet)
    top.close()
    if not fleet.nodes and not problems:
        problems.add(top.where_of("sites"), "names no node")
    problems.raise_any()
    return FleetDraft(
        sites=tuple(fleet.sites),
        domains=tuple(fleet.domains.values()),
        models=tuple(fleet.drafts.values()),
        nodes=tuple(fleet.nodes.values()),
        format="yaml",
    )


def _model(table: Table, fleet: _Fleet) -> None:
    name = table.text("name", required=True)
    vendor = table.text("vendor", required=True)
    memory = table.whole("memory_mib", 1, 2**31 - 1, required=True)
    family = table.choice("mig_family", sorted(FAMILIES))
    power = table.whole("power_limit_w", 1, 100_000)
    weight = table.number("weight", Decimal("0.0001"), Decimal(999_999))
    table.close()
    if name in fleet.drafts:
        fleet.problems.add(table.where_of("name"), f"{name!r} is described twice")
    if not name or memory is None:
        return
    fleet.drafts[name] = ModelDraft(
        name, vendor, memory, family, power or 300, Decimal(1) if weight is None else weight, table.where
    )
    fleet.models[name] = memory


def _site(table: Table, fleet: _Fleet) -> None:
    name = table.text("name", required=True)
    site = SiteDraft(
        name=name,
        provider=table.text("provider") or None,
        residency=table.text("residency", pattern=_COUNTRY, rule="is not a country code such as CN") or None,
        fabric=table.text("fabric", pattern=_WORDS, rule=_WORDS_RULE) or None,
        where=table.where,
    )
    if any(known.name == name for known in fleet.sites):
        fleet.problems.add(table.where_of("name"), f"{name!r} is described twice")
    fleet.sites.append(site)
    for plural, kind, parents in _DOMAINS:
        for row in table.tables(plural):
            _domain(row, name, kind, parents, fleet)
    read_nodes(table, name, fleet.nodes, fleet.models, fleet.domains, fleet.problems)
    table.close()


def _domain(table: Table, site: str, kind: str, parents: tuple[str, ...], fleet: _Fleet) -> None:
    name = table.text("name", required=True)
    given = {parent: table.text(parent) for parent in parents}
    table.close()
    parent = next(((key, value) for key, value in given.items() if value), None)
    if parent and (site, *parent) not in fleet.domains:
        fleet.problems.add(table.where_of(parent[0]), f"{parent[1]!r} is no {parent[0]} of site {site}")
    if (site, kind, name) in fleet.domains:
        fleet.problems.add(table.where_of("name"), f"{kind} {name!r} is described twice")
    fleet.domains[site, kind, name] = DomainDraft(site, kind, name, parent, where=table.where)
