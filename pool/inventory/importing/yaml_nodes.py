"""The nodes of a YAML inventory: devices, links and where the node stands."""

import re
from collections.abc import Mapping, MutableMapping
from dataclasses import replace
from itertools import combinations
from typing import Final

from pool.inventory.importing.drafts import DeviceDraft, DomainDraft, LinkDraft, NodeDraft
from pool.inventory.importing.fields import NAME, NAME_RULE, Table
from pool.inventory.importing.problems import Problems
from pool.inventory.importing.ranges import expand

Domains = Mapping[tuple[str, str, str], DomainDraft]
_RANGED: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/\[\]-]{0,79}")
_UUID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9:._-]{0,79}")
_PCI: Final = re.compile(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]")
_MOST_DEVICES: Final = 64
_LINKS: Final = ("nvlink", "pcie", "hccs", "xgmi")


def read_nodes(
    site: Table,
    site_name: str,
    nodes: MutableMapping[str, NodeDraft],
    models: Mapping[str, int],
    domains: Domains,
    problems: Problems,
) -> None:
    """Adds the site's nodes to `nodes`, by name. `models`: MiB of one card of each model that may be named."""
    for table in site.tables("nodes"):
        names = _names(table, problems)
        draft = _node(table, site_name, models, domains, problems, len(names) > 1)
        table.close()
        for name in names:
            if name in nodes:
                problems.add(table.where_of("name"), f"{name!r} is described before, in {nodes[name].where}")
            elif draft:
                nodes[name] = replace(draft, name=name)


def _names(table: Table, problems: Problems) -> list[str]:
    text = table.text("name", required=True, pattern=_RANGED, rule=f"{NAME_RULE} (or a range such as node[01-08])")
    if not text:
        return []
    try:
        names = expand(text)
    except ValueError as error:
        problems.add(table.where_of("name"), f"{text!r} {error}")
        return []
    if not NAME.fullmatch(names[-1]):
        problems.add(table.where_of("name"), f"{names[-1]!r} {NAME_RULE}")
        return []
    return names


def _node(
    table: Table, site: str, models: Mapping[str, int], domains: Domains, problems: Problems, many: bool
) -> NodeDraft | None:
    cpu = table.whole("cpu_milli", 1, 2**31 - 1, required=True)
    memory = table.whole("memory_mib", 1, 2**40, required=True)
    place = _place(table, site, domains, problems)
    labels = table.pairs("labels")
    backend = table.choice("backend", ("agent",)) or None
    devices = _devices(table, models, problems, many)
    links = _links(table, {device.index for device in devices}, problems)
    if cpu is None or memory is None:
        return None
    return NodeDraft(
        name="",
        site=site,
        cpu_milli=cpu,
        memory_mib=memory,
        **place,
        labels=labels,
        backend=backend,
        devices=tuple(devices) if "devices" in table.cells else None,
        links=links,
        where=table.where,
    )


def _place(table: Table, site: str, domains: Domains, problems: Problems) -> dict[str, str | None]:
    """Rack, switch and pod: those given; a rack that names its switch brings that along, and so on."""
    place: dict[str, str | None] = {kind: table.text(kind) or None for kind in ("rack", "switch", "pod")}
    for kind, name in place.items():
        if name and (site, kind, name) not in domains:
            problems.add(table.where_of(kind), f"{name!r} is no {kind} of site {site}")
    for kind in ("rack", "switch"):
        domain = domains.get((site, kind, place[kind] or ""))
        if domain is None or domain.parent is None:
            continue
        above, name = domain.parent
        if place[above] is None:
            place[above] = name
        elif place[above] != name:
            problems.add(table.where_of(above), f"is {place[above]!r}, but {kind} {domain.name} is in {name!r}")
    return place


def _devices(table: Table, models: Mapping[str, int], problems: Problems, many: bool) -> list[DeviceDraft]:
    devices: dict[int, DeviceDraft] = {}
    for row in table.tables("devices"):
        first = row.whole("index", 0, 32767)
        count = row.whole("count", 1, _MOST_DEVICES) or 1
        draft = _device(row, models, problems, one=count == 1 and not many)
        row.close()
        start = len(devices) if first is None else first
        for index in range(start, start + count):
            if index in devices:
                problems.add(row.where, f"device {index} is described before, in {devices[index].where}")
            elif draft:
                devices[index] = replace(draft, index=index)
    if len(devices) > _MOST_DEVICES:
        problems.add(table.where_of("devices"), f"are {len(devices)}; a node has at most {_MOST_DEVICES}")
    return sorted(devices.values(), key=lambda device: device.index)


def _device(row: Table, models: Mapping[str, int], problems: Problems, one: bool) -> DeviceDraft | None:
    model = row.text("model", required=True)
    memory = row.whole("memory_mib", 1, 2**31 - 1)
    uuid = row.text("uuid", pattern=_UUID, rule="must be 1 to 80 letters, digits, : . _ -") or None
    pci = row.text("pci_address", pattern=_PCI, rule="is not like 00000000:3b:00.0") or None
    for name, value in (("uuid", uuid), ("pci_address", pci)):
        if value and not one:
            problems.add(row.where_of(name), "is of one card, but this entry describes several")
    draft = DeviceDraft(
        index=0,
        model=model,
        memory_mib=memory or models.get(model, 0),
        uuid=uuid,
        mig_enabled=row.flag("mig_enabled"),
        nvlink_island=row.whole("nvlink_island", -1, 32767),
        numa_node=row.whole("numa_node", -1, 32767),
        pci_address=pci,
        labels=row.pairs("labels"),
        where=row.where,
    )
    if model and model not in models:
        problems.add(row.where_of("model"), f"{model!r} is not a known model; describe it under models")
    return draft if model in models else None


def _links(table: Table, indices: set[int], problems: Problems) -> tuple[LinkDraft, ...] | None:
    if "links" not in table.cells:
        return None
    links: dict[tuple[int, int], LinkDraft] = {}
    for row in table.tables("links"):
        kind = row.choice("kind", _LINKS, "nvlink")
        speed = row.whole("bandwidth_gbs", 0, 2**31 - 1) or 0
        ends = row.wholes("devices", 0, 32767)
        row.close()
        if len(ends) < 2:
            problems.add(row.where_of("devices"), "must name two devices or more; all of them are joined pairwise")
        for end in ends:
            if end not in indices:
                problems.add(row.where_of("devices"), f"{end} is no device of this node")
        for a, b in combinations(sorted(ends), 2):
            if a == b or (a, b) in links:
                problems.add(row.where_of("devices"), f"{a} and {b} are joined twice")
            links[a, b] = LinkDraft(a, b, kind, speed)
    return tuple(links.values())
