"""Sites, topology domains and device models that drafts name: made once, updated where a draft says otherwise."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from console.audit.services import Entry
from pool.engine.mig import family_for
from pool.inventory.importing import DeviceDraft, DomainDraft, ModelDraft, SiteDraft
from pool.inventory.known_models import KNOWN
from pool.inventory.models import DeviceModel, Domain, Site
from pool.inventory.services.log import entry

_SITE = ("provider", "residency", "fabric")
_MODEL = ("vendor", "memory_mib", "mig_family", "power_limit_w", "weight")


def ensure_sites(drafts: Sequence[SiteDraft]) -> list[Entry]:
    """Audit entries of what was written; none when all is as drafted."""
    known = {site.name: site for site in Site.objects.filter(name__in=[draft.name for draft in drafts])}
    entries = []
    for draft in drafts:
        said = {name: value for name in _SITE if (value := getattr(draft, name)) is not None}
        site = known.get(draft.name)
        if site is None:
            site = Site.objects.create(name=draft.name, **said)
            entries.append(entry("site.create", site, None, {"name": site.name, **said}))
            continue
        entries += _update("site.update", site, said)
    return entries


def ensure_domains(drafts: Sequence[DomainDraft]) -> list[Entry]:
    """Pods before switches before racks, so that a parent is there before its children."""
    if not drafts:
        return []
    sites = {site.name: site for site in Site.objects.filter(name__in={draft.site for draft in drafts})}
    known = {(row.site_id, row.kind, row.name): row for row in Domain.objects.filter(site__in=sites.values())}
    entries = []
    order = [Domain.Kind.POD, Domain.Kind.SWITCH, Domain.Kind.RACK]
    for draft in sorted(drafts, key=lambda draft: order.index(Domain.Kind(draft.kind))):
        site = sites[draft.site]
        parent = known[site.pk, *draft.parent] if draft.parent else None
        domain = known.get((site.pk, draft.kind, draft.name))
        if domain is None:
            domain = Domain.objects.create(site=site, kind=draft.kind, name=draft.name, parent=parent)
            known[site.pk, draft.kind, draft.name] = domain
            entries.append(entry("domain.create", domain, None, {"kind": draft.kind, "name": draft.name}))
        elif parent and domain.parent_id != parent.pk:
            entries += _update("domain.update", domain, {"parent": parent})
    return entries


def ensure_models(drafts: Sequence[ModelDraft], devices: Iterable[DeviceDraft]) -> list[Entry]:
    """Models that a file describes, and those of `known_models` or new ones that its devices name."""
    described = {draft.name: draft for draft in drafts}
    for device in devices:
        if device.model not in described and device.model not in KNOWN:
            family = family_for(device.model, device.memory_mib)
            described[device.model] = ModelDraft(device.model, device.vendor or "unknown", device.memory_mib, family)
    names = {device.model for device in devices} | described.keys()
    known = {model.name: model for model in DeviceModel.objects.filter(name__in=names)}
    told = {draft.name for draft in drafts}
    entries = []
    for name in sorted(names):
        source = described.get(name) or KNOWN[name]
        values = {key: getattr(source, key) for key in _MODEL}
        if name not in known:
            model = DeviceModel.objects.create(name=name, **values)
            entries.append(entry("device_model.create", (model._meta.model_name or "", name), None, _plain(values)))
        elif name in told:
            entries += _update("device_model.update", known[name], values, ident=name)
    return entries


def _update(action: str, row: Any, values: dict[str, Any], ident: str = "") -> list[Entry]:
    changed = {key: value for key, value in values.items() if getattr(row, key) != value}
    if not changed:
        return []
    before = {key: getattr(row, key) for key in changed}
    type(row).objects.filter(pk=row.pk).update(**changed)
    subject = (row._meta.model_name, ident) if ident else row
    return [entry(action, subject, _plain(before), _plain(changed))]


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {key: str(value) if isinstance(value, Decimal | Domain) else value for key, value in values.items()}
