"""What the left navigation shows: only rooms whose route exists and that the actor may enter."""

from collections.abc import Callable
from dataclasses import dataclass

from django.urls import NoReverseMatch, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from console.approvals.queries import may_see
from console.common.actor import Actor, PlatformRole, TenantRole
from console.tenants.access import may_review

Text = str | Promise


_QUEUES = (
    "scheduling:queue",
    "scheduling:shares",
    "scheduling:sharing",
    "scheduling:preemption",
    "scheduling:budget",
    "scheduling:calendar",
    "scheduling:reservation",
)
_SIGN_IN = ("accounts:policy", "accounts:lock")
_PROVIDERS = ("accounts:provider",)
_MOVES = ("scheduling:fragmentation", "scheduling:defrag")


def _everyone(actor: Actor) -> bool:
    return True


def _reads_money(actor: Actor) -> bool:
    return actor.sees_all_money or any(
        role in {TenantRole.OWNER, TenantRole.BILLING} for role in actor.tenants.values()
    )


def _reads_audit(actor: Actor) -> bool:
    if actor.platform_role in {PlatformRole.OPERATOR, PlatformRole.AUDITOR}:
        return True
    return TenantRole.OWNER in actor.tenants.values()


def _sees_work(actor: Actor) -> bool:
    return actor.sees_all_work or bool(actor.tenants)  # finance sees money, not work


def _sees_all(actor: Actor) -> bool:
    return actor.sees_all_work


def _is_person(actor: Actor) -> bool:
    return actor.user_id is not None


@dataclass(frozen=True, slots=True)
class Entry:
    """`covers`: view names, or prefixes of view names, on which the entry is the current one."""

    label: Text
    route: str
    icon: str
    covers: tuple[str, ...]
    count: str = ""  # key into the counts of `console.web.context`
    visible: Callable[[Actor], bool] = _everyone


@dataclass(frozen=True, slots=True)
class Group:
    label: Text
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """An entry resolved for one request."""

    label: Text
    url: str
    icon: str
    current: bool
    count: str


MENU: tuple[Group, ...] = (
    Group(
        _("Pool"),
        (
            Entry(_("Overview"), "web:overview", "layout-dashboard", ("web:overview",)),
            Entry(
                _("Nodes & devices"),
                "inventory:node_list",
                "server",
                ("inventory:node", "inventory:device", "web:heatmap"),
                "nodes",
                _sees_work,
            ),
            Entry(_("Fragmentation"), "scheduling:fragmentation", "layout-grid", _MOVES, visible=_sees_all),
            Entry(_("Sites"), "inventory:site_list", "map-pin", ("inventory:site",), "sites", _sees_work),
        ),
    ),
    Group(
        pgettext_lazy("navigation", "Work"),
        (
            Entry(_("Jobs"), "scheduling:job_list", "list-checks", ("scheduling:job",), "jobs", _sees_work),
            Entry(_("Queues"), "scheduling:queue_list", "layers", _QUEUES, "queues", _sees_work),
        ),
    ),
    Group(
        _("Billing"),
        (
            Entry(
                _("Usage"),
                "billing:usage",
                "chart-no-axes-column",
                ("billing:usage",),
                visible=_reads_money,
            ),
            Entry(
                _("Invoices"),
                "billing:invoice_list",
                "receipt-text",
                ("billing:invoice",),
                visible=_reads_money,
            ),
            Entry(_("Ledger"), "billing:ledger_accounts", "book-open", ("billing:ledger",), visible=_reads_money),
            Entry(_("Prices"), "billing:price_list", "tags", ("billing:price",)),
        ),
    ),
    Group(
        pgettext_lazy("navigation", "Access"),
        (
            Entry(_("Tenants & people"), "people:list", "users", ("people:",), visible=_sees_work),
            Entry(_("Approvals"), "approvals:list", "stamp", ("approvals:",), visible=may_see),
            Entry(_("Access review"), "access_review", "user-check", ("access_review",), visible=may_review),
            Entry(_("API tokens"), "tenants:tokens", "key-round", ("tenants:token",), visible=_is_person),
            Entry(_("Sign-in policy"), "accounts:policy", "shield-check", _SIGN_IN, visible=_sees_all),
            Entry(_("Sign-in providers"), "accounts:providers", "building-2", _PROVIDERS, visible=_reads_audit),
            Entry(_("Audit log"), "audit:list", "scroll-text", ("audit:",), visible=_reads_audit),
            Entry(_("API reference"), "api-docs", "code-xml", ("api-docs",)),
        ),
    ),
)


def menu_for(actor: Actor, view_name: str, counts: dict[str, int]) -> list[tuple[Text, list[Link]]]:
    """Groups with at least one entry, in order. An unknown route is left out, never a dead link."""
    shown = []
    for group in MENU:
        links = [link for entry in group.entries if (link := _resolve(entry, actor, view_name, counts))]
        if links:
            shown.append((group.label, links))
    return shown


def _resolve(entry: Entry, actor: Actor, view_name: str, counts: dict[str, int]) -> Link | None:
    if not entry.visible(actor):
        return None
    try:
        url = reverse(entry.route)
    except NoReverseMatch:
        return None
    current = any(view_name.startswith(prefix) for prefix in entry.covers)
    count = counts.get(entry.count)
    return Link(entry.label, url, entry.icon, current, "" if count is None else f"{count:,}")
