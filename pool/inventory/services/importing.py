"""`import_fleet`: a whole file or nothing."""

from collections import Counter
from dataclasses import dataclass, field

from django.db import IntegrityError, transaction

from console.audit.services import Entry, record_many
from console.common.actor import Actor
from console.common.errors import Conflict, NotAllowed
from pool.inventory import ports
from pool.inventory.importing import FleetDraft
from pool.inventory.importing.problems import Problems
from pool.inventory.services import ground, known, write
from pool.inventory.services.compare import NodePlan, plan_node
from pool.inventory.services.hardware import hardware_changed
from pool.inventory.services.locks import lock_nodes
from pool.inventory.services.log import entry, node_entry


@dataclass(frozen=True, slots=True)
class Count:
    created: int = 0
    updated: int = 0
    unchanged: int = 0


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did, or with `dry_run` would do. `removed`: cards that the file no longer lists."""

    nodes: Count = field(default_factory=Count)
    devices: Count = field(default_factory=Count)
    removed: int = 0
    other: int = 0  # sites, domains and models that were written
    dry_run: bool = False

    @property
    def changed(self) -> bool:
        written = self.nodes.created + self.nodes.updated + self.devices.created + self.devices.updated
        return bool(written + self.removed + self.other)


def import_fleet(actor: Actor, draft: FleetDraft, *, dry_run: bool = False) -> ImportReport:
    """Makes the inventory as the draft says, in one transaction; nodes that it does not name stay as they are.

    Raises InvalidInput with every problem by line (then nothing is written), NotAllowed for anyone but an
    operator, Conflict when work was placed meanwhile on what would move. The same file twice changes nothing.
    """
    if not actor.is_operator:
        raise NotAllowed("only an operator may import a fleet")
    try:
        with transaction.atomic():
            report = _import(actor, draft, dry_run)
            if dry_run:
                transaction.set_rollback(True)
    except IntegrityError as error:
        raise Conflict("a node joined, or work was placed, on what this file changes; try again") from error
    return report


def _import(actor: Actor, draft: FleetDraft, dry_run: bool) -> ImportReport:
    devices = [device for node in draft.nodes for device in node.devices or ()]
    entries = ground.ensure_models(draft.models, devices)
    entries += ground.ensure_sites(draft.sites)
    entries += ground.ensure_domains(draft.domains)
    have = known.load(draft.nodes)
    plans = [plan_node(node, have) for node in draft.nodes]
    _refuse(plans, have)
    report = _count(plans, len(entries), len(devices), dry_run)
    if not report.changed or dry_run:
        return report
    new = {id(plan) for plan in plans if plan.node is None}
    changed = [plan for plan in plans if plan.is_change]
    lock_nodes(plan.node.pk for plan in changed if plan.node)
    write.write(changed, have)
    hardware_changed()
    entries += [node_entry(plan, id(plan) in new) for plan in changed]
    record_many(actor, [_summary(draft, report), *entries])
    ports.fleet_changed([plan.node.pk for plan in changed if plan.node])
    return report


def _refuse(plans: list[NodePlan], have: known.Known) -> None:
    problems = Problems()
    for plan in plans:
        for where, message in plan.problems:
            problems.add(where, message)
    _check_uuids(plans, have, problems)
    problems.raise_any()


def _check_uuids(plans: list[NodePlan], have: known.Known, problems: Problems) -> None:
    """One card is in one slot: no uuid twice in a file, and none that another node's card keeps."""
    seen: dict[str, str] = {}
    freed = {row.device.pk for plan in plans for row in plan.devices if "uuid" in row.changes}
    freed |= {device.pk for plan in plans for device in plan.removed}
    for plan in plans:
        for device in plan.draft.devices or ():
            if not device.uuid:
                continue
            if device.uuid in seen:
                problems.add(f"{device.where}.uuid", f"{device.uuid!r} is named before, in {seen[device.uuid]}")
            seen[device.uuid] = device.where
            holder = have.holders.get(device.uuid)
            if holder is not None and holder.pk not in freed:
                place = f"{holder.node.name} device {holder.index}"
                message = f"{device.uuid!r} is the card in {place}; describe that node in this file too"
                problems.add(f"{device.where}.uuid", message)


def _count(plans: list[NodePlan], other: int, devices: int, dry_run: bool) -> ImportReport:
    nodes = Counter("created" if plan.node is None else "updated" if plan.is_change else "same" for plan in plans)
    created = sum(len(plan.new_devices) for plan in plans)
    updated = sum(len(plan.devices) for plan in plans)
    return ImportReport(
        nodes=Count(nodes["created"], nodes["updated"], nodes["same"]),
        devices=Count(created, updated, devices - created - updated),
        removed=sum(len(plan.removed) for plan in plans),
        other=other,
        dry_run=dry_run,
    )


def _summary(draft: FleetDraft, report: ImportReport) -> Entry:
    after = {
        "file": draft.name,
        "sha256": draft.digest,
        "format": draft.format,
        "nodes created": report.nodes.created,
        "nodes updated": report.nodes.updated,
        "devices created": report.devices.created,
        "devices updated": report.devices.updated,
        "devices removed": report.removed,
    }
    return entry("fleet.import", ("fleet", draft.digest[:16] or draft.name), None, after)
