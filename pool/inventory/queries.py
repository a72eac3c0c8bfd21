"""Every read of hardware, scoped by who asks.

Operators and auditors see all of it. A member of a tenant sees the nodes and cards on which the tenant holds
something now, and of them only what is the tenant's: `held_bp` and `held_mib` count live allocations that the
actor may see. Pages and the API show these, never `used_share_bp` of the row, to anyone without `sees_all_work`:
it would tell what the neighbours hold. Money roles see no hardware. A retired card counts nowhere, and only its own
filter lists it.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

from django.db.models import Count, Exists, F, IntegerField, Model, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce

from console.common.actor import Actor
from console.common.errors import NotFound
from pool.inventory.filters import RETIRED, UNREACHABLE, DeviceFilter, NodeFilter
from pool.inventory.models import Device, DeviceModel, Domain, Link, Node, Site

WHOLE = 10_000
# how lists are ordered, and paged (console.common.listing); the last of each makes it whole
NODE_ORDER = ("name_key", "pk")
DEVICE_ORDER = ("node__name_key", "node_id", "index")
PRESENT = Q(retired_at=None)
M = TypeVar("M", bound=Model)


def nodes_for(actor: Actor, where: NodeFilter | None = None) -> QuerySet[Node]:
    """Nodes by name, with site and domains, `device_count`, `faulty_count`, `held_bp`, `held_mib`."""
    nodes = _scoped(actor, Node.objects.all(), "node")
    if where:
        nodes = _filter_nodes(actor, nodes, where)
    devices = Device.objects.filter(PRESENT, node=OuterRef("pk"))
    return (
        nodes.select_related("site", "pod", "switch", "rack")
        .annotate(
            device_count=_number(devices, "node", Count("pk")),
            faulty_count=_number(devices.filter(state=Device.State.FAULTY), "node", Count("pk")),
            model_name=Subquery(devices.order_by("index").values("model__name")[:1]),
            held_bp=_held(actor, "node", "share_bp"),
            held_mib=_held(actor, "node", "memory_mib"),
        )
        .order_by(*NODE_ORDER)
    )


def node_for(actor: Actor, public_id: str) -> Node:
    """Raises NotFound for a node that is not there or not for these eyes."""
    return _one(nodes_for(actor), public_id, "node")


def devices_for(actor: Actor, where: DeviceFilter | None = None) -> QuerySet[Device]:
    """Cards by node and index, with node, site, rack and model, `held_bp`, `held_mib`."""
    state = where.state if where else ""
    devices = _all_devices(actor).exclude(PRESENT) if state == RETIRED else _all_devices(actor).filter(PRESENT)
    if where:
        devices = _filter_devices(actor, devices, where)
    return _with_held(actor, devices)


def device_for(actor: Actor, public_id: str) -> Device:
    """A retired one too: what it held still names it. Raises NotFound as `node_for`."""
    return _one(_with_held(actor, _all_devices(actor)), public_id, "device")


def _all_devices(actor: Actor) -> QuerySet[Device]:
    return _scoped(actor, Device.objects.all(), "device")


def _with_held(actor: Actor, devices: QuerySet[Device]) -> QuerySet[Device]:
    return (
        devices.select_related("node", "node__site", "node__rack", "node__switch", "model")
        .annotate(held_bp=_held(actor, "device", "share_bp"), held_mib=_held(actor, "device", "memory_mib"))
        .order_by(*DEVICE_ORDER)
    )


def sites_for(actor: Actor) -> QuerySet[Site]:
    """Sites by name, with `node_count`, `device_count`, `faulty_count`, `held_bp` of the nodes that the actor sees."""
    nodes = _scoped(actor, Node.objects.filter(site=OuterRef("pk")), "node")
    devices = _scoped(actor, Device.objects.filter(PRESENT, node__site=OuterRef("pk")), "device")
    held = _live(actor).filter(node__site=OuterRef("pk"))
    sites = Site.objects.annotate(
        node_count=_number(nodes, "site", Count("pk")),
        device_count=_number(devices, "node__site", Count("pk")),
        faulty_count=_number(devices.filter(state=Device.State.FAULTY), "node__site", Count("pk")),
        held_bp=_number(held, "node__site", Sum("share_bp")),
    )
    if not actor.sees_all_work:
        sites = sites.filter(node_count__gt=0)
    return sites.order_by("name")


def site_for(actor: Actor, public_id: str) -> Site:
    """Raises NotFound as `node_for`."""
    return _one(sites_for(actor), public_id, "site")


def domains_for(actor: Actor, site: Site, kind: str) -> QuerySet[Domain]:
    """Pods, switches or racks of a site, by name; for tenants, those with a node that they see."""
    domains = Domain.objects.filter(site=site, kind=kind).order_by("name")
    if actor.sees_all_work:
        return domains
    return domains.filter(Exists(_scoped(actor, Node.objects.filter(**{kind: OuterRef("pk")}), "node")))


def models_for(actor: Actor) -> QuerySet[DeviceModel]:
    """Models that some card in the actor's sight has, by name: what a filter may offer."""
    seen = _scoped(actor, Device.objects.filter(PRESENT, model=OuterRef("pk")), "device")
    return DeviceModel.objects.filter(Exists(seen)).order_by("name")


def links_of(actor: Actor, node: Node) -> QuerySet[Link]:
    """Links between cards that the actor sees."""
    seen = _scoped(actor, Device.objects.filter(PRESENT, node=node), "device").values("pk")
    return Link.objects.filter(a__in=seen, b__in=seen).select_related("a", "b").order_by("a__index", "b__index")


def running_on_device(actor: Actor, device: Device) -> QuerySet[Any]:
    """Live allocations of a card that the actor may see, oldest first, with job, tenant and replica."""
    return _live(actor).filter(device=device).select_related("job", "tenant", "replica").order_by("pk")


def running_on_node(actor: Actor, node: Node) -> QuerySet[Any]:
    """Live allocations of a node that the actor may see, by card, with device, job, tenant and replica."""
    rows = _live(actor).filter(node=node).select_related("job", "tenant", "replica", "device")
    return rows.order_by(F("device__index").asc(nulls_last=True), "pk")


def node_counts(actor: Actor) -> dict[str, int]:
    """Nodes by state: {"ready", "cordoned", "draining", "unreachable", "all"}; one that is both counts as each."""
    nodes = _scoped(actor, Node.objects.all(), "node")
    return _counts(nodes, Node.State.values, Q(reachable=False))


def device_counts(actor: Actor) -> dict[str, int]:
    """Cards by state: {"ready", "cordoned", "faulty", "unreachable", "all"}; unreachable with their node."""
    devices = _all_devices(actor).filter(PRESENT)
    return _counts(devices, Device.State.values, Q(node__reachable=False))


def share_held(actor: Actor) -> tuple[int, int]:
    """(held, capacity) of the cards in sight, in basis points of a card."""
    held = _live(actor).filter(device__isnull=False).aggregate(total=Sum("share_bp"))["total"] or 0
    return held, WHOLE * _all_devices(actor).filter(PRESENT).count()


def model_memory() -> dict[str, int]:
    """MiB of one card by model name, of every model in the database (for importers)."""
    return dict(DeviceModel.objects.values_list("name", "memory_mib"))


def _filter_nodes(actor: Actor, nodes: QuerySet[Node], where: NodeFilter) -> QuerySet[Node]:
    conditions = _place("", where.site, where.rack)
    if where.state == UNREACHABLE:
        conditions &= Q(reachable=False)
    elif where.state:
        conditions &= Q(state=where.state)
    if where.text:
        conditions &= Q(name__icontains=where.text) | Q(rack__name__iexact=where.text) | Q(public_id=where.text)
    cards = Device.objects.filter(PRESENT, node=OuterRef("pk"))
    if where.model:
        conditions &= Q(Exists(cards.filter(model__name=where.model)))
    if where.min_free_bp is not None:
        conditions &= Q(Exists(cards.filter(_has_free(actor, where.min_free_bp))))
    return nodes.filter(conditions)


def _filter_devices(actor: Actor, devices: QuerySet[Device], where: DeviceFilter) -> QuerySet[Device]:
    conditions = _place("node__", where.site, where.rack)
    if where.state == UNREACHABLE:
        conditions &= Q(node__reachable=False)
    elif where.state and where.state != RETIRED:
        conditions &= Q(state=where.state)
    if where.node:
        conditions &= Q(node__public_id=where.node)
    if where.model:
        conditions &= Q(model__name=where.model)
    if where.mig:
        conditions &= Q(mig_enabled=where.mig == "on")
    if where.text:
        conditions &= Q(node__name__icontains=where.text) | Q(uuid__icontains=where.text) | Q(public_id=where.text)
    if where.min_free_bp is not None:
        conditions &= _has_free(actor, where.min_free_bp)
    return devices.filter(conditions)


def _place(prefix: str, site: str, rack: str) -> Q:
    conditions = Q()
    if site:
        conditions &= Q(**{f"{prefix}site__name": site}) | Q(**{f"{prefix}site__public_id": site})
    if rack:
        conditions &= Q(**{f"{prefix}rack__name": rack})
    return conditions


def _has_free(actor: Actor, share_bp: int) -> Q:
    # what is free tells what neighbours hold: a question for those who see all work
    if not actor.sees_all_work:
        return Q(pk__in=())
    return Q(used_share_bp__lte=WHOLE - share_bp, state=Device.State.READY)


def _scoped(actor: Actor, rows: QuerySet[M], relation: str) -> QuerySet[M]:
    """Rows on which (`relation`: "node" or "device") the actor may see something live."""
    if actor.sees_all_work:
        return rows
    return rows.filter(Exists(_live(actor).filter(**{relation: OuterRef("pk")})))


def _live(actor: Actor) -> QuerySet[Any]:
    """Live allocations that the actor may see, through the relation: scheduling stands above this room."""
    allocation: Any = Device._meta.get_field("allocations").related_model
    rows: QuerySet[Any] = allocation._default_manager.filter(released_at=None)
    return rows if actor.sees_all_work else rows.filter(tenant__in=actor.tenants)


def _held(actor: Actor, relation: str, column: str) -> Coalesce:
    return _number(_live(actor).filter(**{relation: OuterRef("pk")}), relation, Sum(column))


def _number(rows: QuerySet[Any], group: str, figure: Any) -> Coalesce:
    counted = rows.order_by().values(group).annotate(figure=figure).values("figure")
    return Coalesce(Subquery(counted, output_field=IntegerField()), Value(0))


def _counts(rows: QuerySet[Any], states: Sequence[str], unreachable: Q) -> dict[str, int]:
    figures = {state: Count("pk", filter=Q(state=state)) for state in states}
    return dict(rows.aggregate(**figures, unreachable=Count("pk", filter=unreachable), all=Count("pk")))


def _one(rows: QuerySet[M], public_id: str, what: str) -> M:
    row = rows.filter(public_id=public_id).first()
    if row is None:
        raise NotFound(f"{what} {public_id!r} was not found")
    return row
