"""Filters of the job list, read from the URL; what does not parse is ignored, never an error page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db import connection
from django.db.models import Q, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from console.common.actor import Actor
from console.tenants import queries as tenants
from pool.scheduling import queries
from pool.scheduling.models import Job, JobState, Queue
from pool.scheduling.states import JOB_ACTIVE, JOB_FINAL

# tab of the URL: label, states
TABS: dict[str, tuple[str | Promise, frozenset[str]]] = {
    "active": (pgettext_lazy("jobs", "Active"), JOB_ACTIVE),
    "queued": (pgettext_lazy("jobs", "Queued"), frozenset({JobState.QUEUED})),
    "finished": (pgettext_lazy("jobs", "Finished"), JOB_FINAL),
    "failed": (pgettext_lazy("jobs", "Failed"), frozenset({JobState.FAILED})),
    "all": (gettext_lazy("All"), frozenset(JobState.values)),
}
_OPEN = frozenset({JobState.QUEUED, *JOB_ACTIVE})
_FEW = frozenset({"active", "queued", "failed"})  # tabs whose jobs an index on the state finds
DEFAULT_TAB = "active"
LONGEST = 100
MOST_COUNTED = 1000  # a tab says "999+" beyond: counting 100,000 finished jobs helps nobody


@dataclass(frozen=True, slots=True)
class JobFilter:
    """`tab` is a key of TABS; the others are exact slugs, or text that a name or id contains."""

    tab: str = DEFAULT_TAB
    tenant: str = ""
    project: str = ""
    queue: str = ""
    text: str = ""

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> "JobFilter":
        texts = {name: str(params.get(name, "")).replace("\0", "").strip()[:LONGEST] for name in _NAMES}
        tab = str(params.get("state", ""))
        return cls(tab=tab if tab in TABS else DEFAULT_TAB, text=texts.pop("q"), **texts)

    @property
    def narrowed(self) -> bool:
        return bool(self.tenant or self.project or self.queue or self.text)


_NAMES = ("tenant", "project", "queue", "q")


def jobs(actor: Actor, where: JobFilter) -> QuerySet[Job]:
    """The jobs of the list, newest first."""
    return _in_tab(_narrowed(actor, where), where.tab)


def _in_tab(rows: QuerySet[Job], tab: str) -> QuerySet[Job]:
    if tab == "all":
        return rows
    if tab == "finished":
        # "not open" reads newest first and stops; a list of states would fetch the history and sort it
        return rows.exclude(state__in=sorted(_OPEN))
    found = rows.filter(state__in=sorted(TABS[tab][1]))
    if connection.vendor != "sqlite":
        return found
    # by way of the keys: ordered by key at once, SQLite would read the tenant's whole history newest first
    return rows.filter(pk__in=found.order_by().values("pk"))


def _narrowed(actor: Actor, where: JobFilter) -> QuerySet[Job]:
    wanted = Q()
    if where.tenant:
        wanted &= queries.of_tenant(where.tenant)
    if where.project:
        wanted &= Q(project__slug=where.project)
    if where.queue:
        wanted &= Q(queue__name=where.queue)
    if where.text:
        wanted &= Q(name__icontains=where.text) | Q(public_id__startswith=where.text)
    return queries.jobs_for(actor).filter(wanted)


def tabs(actor: Actor, where: JobFilter, query: Mapping[str, str]) -> list[dict[str, Any]]:
    """For components/tabs.html; each keeps the other filters. One capped count a tab."""
    rows = _narrowed(actor, where).order_by()
    shown = []
    for key, (label, states) in TABS.items():
        found = rows.filter(state__in=sorted(states)) if key in _FEW else _in_tab(rows, key)
        count = found[:MOST_COUNTED].count()
        text = f"{MOST_COUNTED - 1}+" if count >= MOST_COUNTED else str(count)
        shown.append(
            {
                "label": label,
                "url": "?" + urlencode({"state": key, **query}),
                "current": key == where.tab,
                "count": text,
            }
        )
    return shown


def fields(actor: Actor, where: JobFilter) -> list[dict[str, Any]]:
    """For components/filters.html; a choice of one is no choice and is left out."""
    own = tenants.tenants_for(actor)
    choices = {
        "tenant": (_("Tenant"), [(t.slug, t.name) for t in own]),
        "project": (_("Project"), _names(tenants.projects_for(actor).values_list("slug", flat=True))),
        "queue": (_("Queue"), _names(_queues(actor).values_list("name", flat=True))),
    }
    shown: list[dict[str, Any]] = [
        {"name": "state", "kind": "hidden", "value": where.tab},
        {"name": "q", "kind": "text", "label": _("Name or id"), "value": where.text},
    ]
    for name, (label, options) in choices.items():
        value = getattr(where, name)
        if len(options) > 1 or value:
            shown.append({"name": name, "kind": "select", "label": label, "value": value, "options": options})
    return shown


def _queues(actor: Actor) -> QuerySet[Queue]:
    return Queue.objects.filter(queries.own(actor)).order_by()


def _names(values: Any) -> list[tuple[str, str]]:
    return [(name, name) for name in sorted(set(values))]
