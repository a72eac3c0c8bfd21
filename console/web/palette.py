"""The search of the command palette: pages, jobs, nodes, devices, tenants; each scoped by the actor."""

from dataclasses import dataclass

from django.db.models import Q
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from console.common.actor import Actor
from console.tenants import queries as tenants
from console.web import navigation
from pool.inventory import queries as inventory
from pool.scheduling import queries as scheduling

LONGEST = 100
EACH = 6


@dataclass(frozen=True, slots=True)
class Hit:
    label: str | Promise
    note: str
    url: str
    icon: str


@dataclass(frozen=True, slots=True)
class Group:
    label: str | Promise
    hits: list[Hit]


def search(actor: Actor, text: str) -> list[Group]:
    """At most six hits a kind. Empty text offers the pages. Six queries at most."""
    text = text.strip()[:LONGEST].replace("\0", "")
    pages = Group(_("Pages"), _pages(actor, text))
    if not text:
        return [pages]
    groups = [
        pages,
        Group(_("Jobs"), _jobs(actor, text)),
        Group(_("Nodes"), _nodes(actor, text)),
        Group(_("Devices"), _devices(actor, text)),
        Group(_("Tenants"), _tenants(actor, text)),
    ]
    return [group for group in groups if group.hits]


def _pages(actor: Actor, text: str) -> list[Hit]:
    links = [link for _label, group in navigation.menu_for(actor, "", {}) for link in group]
    return [Hit(link.label, "", link.url, link.icon) for link in links if text.lower() in str(link.label).lower()]


def _jobs(actor: Actor, text: str) -> list[Hit]:
    wanted = Q(name__icontains=text) | Q(public_id__startswith=text)
    jobs = scheduling.jobs_for(actor).filter(wanted).prefetch_related(None).prefetch_related("tenant")[:EACH]
    return [
        Hit(
            job.name,
            f"{job.tenant.slug} · {job.get_state_display()}",
            reverse("scheduling:job_detail", args=[job.public_id]),
            "list-checks",
        )
        for job in jobs
    ]


def _nodes(actor: Actor, text: str) -> list[Hit]:
    wanted = Q(name__icontains=text) | Q(public_id__startswith=text)
    nodes = inventory.nodes_for(actor).filter(wanted).select_related("site")[:EACH]
    return [
        Hit(node.name, node.site.name, reverse("inventory:node_detail", args=[node.public_id]), "server")
        for node in nodes
    ]


def _devices(actor: Actor, text: str) -> list[Hit]:
    wanted = Q(uuid__icontains=text) | Q(public_id__startswith=text)
    devices = inventory.devices_for(actor).filter(wanted).select_related("node", "model")
    return [
        Hit(
            f"{device.node.name} · {device.index}",
            device.model.name,
            reverse("inventory:device_detail", args=[device.public_id]),
            "cpu",
        )
        for device in devices[:EACH]
    ]


def _tenants(actor: Actor, text: str) -> list[Hit]:
    wanted = Q(slug__icontains=text) | Q(name__icontains=text)
    found = tenants.tenants_for(actor).filter(wanted).order_by("slug")[:EACH]
    jobs = reverse("scheduling:job_list")
    return [Hit(tenant.name, tenant.slug, f"{jobs}?tenant={tenant.slug}", "users") for tenant in found]
