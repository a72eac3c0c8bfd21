"""The tree of queues: what each holds, wants and is entitled to, and why not more."""

from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.defaultfilters import floatformat
from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from console.common import formats
from console.common.signed_in import actor_of
from pool.scheduling.models import Queue
from pool.scheduling.sharing import queries as sharing
from pool.scheduling.sharing.queries import Standing

BOUNDS: dict[str, str | Promise] = {
    "demand": gettext_lazy("It is entitled to all that it asks for."),
    "limit": gettext_lazy("A limit: %(of)s."),
    "lending": gettext_lazy("Quota that is not lent: %(of)s."),
    "scaled": gettext_lazy("The pool is smaller than the quotas claimed: all get less in proportion."),
    "priority": gettext_lazy("A queue of higher priority comes first: %(of)s."),
    "no_weight": gettext_lazy("Its over-quota weight is 0: nothing beyond its quota."),
    "weight": gettext_lazy("What is beyond the quotas is divided by weight."),
    "capacity": gettext_lazy("There is no more."),
}
RESOURCES: dict[str, tuple[str | Promise, Callable[[int], str]]] = {
    "share_bp": (gettext_lazy("Cards"), formats.cards),
    "gpu_memory_mib": (gettext_lazy("GPU memory"), formats.memory),
    "cpu_milli": (gettext_lazy("CPU"), formats.cpu),
    "memory_mib": (gettext_lazy("Memory"), formats.memory),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the tree, in cards; `over`: beyond what it is entitled to, `short`: below it and asking for more."""

    queue: Queue
    depth: int
    told: bool
    used: int
    wanted: int
    quota: int
    entitled: int
    why: str

    @property
    def over(self) -> bool:
        return self.told and self.used > self.entitled

    @property
    def short(self) -> bool:
        return self.told and self.used < self.entitled

    @property
    def most(self) -> int:
        """The end of its bar."""
        return max(self.used, self.entitled, 1)


@require_GET
def shares(request: HttpRequest) -> HttpResponse:
    """All queues in sight; those of others are neither named nor counted."""
    actor = actor_of(request)
    rows = [row_of(standing) for standing in sharing.standings_for(actor)]
    rules = sharing.rules()
    context = {
        "rows": rows,
        "told": any(row.told for row in rows),
        "several_tenants": actor.sees_all_work or len(actor.tenants) > 1,
        "rules": rules,
        "past_days": floatformat(rules.history_window_s / 86_400, -1),
        "may_set": actor.is_operator,
        "weights": [f"{model} {number_format(value / 100)}" for model, value in sharing.weights().items()],
    }
    return render(request, "scheduling/shares.html", context)


def row_of(standing: Standing) -> Row:
    line, queue = standing.line, standing.queue
    if line is None:
        return Row(queue, standing.depth, False, 0, 0, queue.quota_share_bp, 0, "")
    cards = (line.used, line.wanted, line.quota, line.entitlement)
    used, wanted, quota, entitled = (amounts["share_bp"] for amounts in cards)
    return Row(queue, standing.depth, True, used, wanted, quota, entitled, why(standing))


def why(standing: Standing) -> str:
    """Why its entitlement is no larger."""
    line = standing.line
    if line is None:
        return ""
    of = f"{standing.of.tenant.slug} / {standing.of.name}" if standing.of else _("another queue")
    return str(BOUNDS.get(line.bound, line.bound)) % {"of": of}


def amounts(standing: Standing) -> list[tuple[str, str, str, str, str]]:
    """Resource, held, wanted, quota and entitlement in words."""
    line = standing.line
    if line is None:
        return []
    return [
        (str(name), show(line.used[key]), show(line.wanted[key]), show(line.quota[key]), show(line.entitlement[key]))
        for key, (name, show) in RESOURCES.items()
    ]
