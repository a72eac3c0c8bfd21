"""One decision: what was decided, by which rule the job came, what else was looked at, and the same again."""

from dataclasses import asdict, dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from console.common import formats
from console.common.signed_in import actor_of
from pool.inventory.models import Node
from pool.scheduling import queries
from pool.scheduling.ledger import inputs as rules
from pool.scheduling.ledger.rebuild import Lost
from pool.scheduling.ledger.replay import Replay, replay_decision
from pool.scheduling.models import Decision, LedgerBase
from pool.scheduling.pages import reasons
from pool.scheduling.sharing import turns
from pool.scheduling.telling import inputs_for, reasons_for, snapshot_for

ORDERS: dict[str, str | Promise] = {
    turns.PLAIN: gettext_lazy("There was room for all: the highest priority came first, then who waited longest."),
    turns.FAIR: gettext_lazy(
        "Queues competed: the queue furthest below what it is entitled to came first, in it the highest priority, then"
        " who waited longest."
    ),
    rules.ROOM: gettext_lazy("Room had been made for this job, and it came before all others."),
    rules.MOVE: gettext_lazy("It moved: its place was kept by a plan against fragmentation."),
    rules.SWEEP: gettext_lazy("It was looked at while it waited; nothing was given to anybody."),
}
LOST: dict[str, str | Promise] = {
    "before": gettext_lazy("It was made before its inputs were recorded."),
    "pruned": gettext_lazy("What it was made on is no longer kept."),
    "torn": gettext_lazy("What was recorded is not all there, so that it cannot be made again."),
}


@dataclass(frozen=True, slots=True)
class Place:
    """A node that could have held it. `node` is its name."""

    node: str
    criteria: list[str]
    chosen: bool


@dataclass(frozen=True, slots=True)
class Again:
    """`tone`: ok, bad or warn."""

    tone: str
    text: str
    found: Replay | None = None
    places: tuple[Place, ...] = ()


@require_GET
def decision(request: HttpRequest, public_id: str) -> HttpResponse:
    """`replay`: make it again (for those who see all work)."""
    actor = actor_of(request)
    found = queries.decision_for(actor, public_id)
    told = inputs_for(actor, found.inputs)
    may = actor.sees_all_work
    context = {
        "decision": found,
        "job": found.job,
        "why": reasons.explain(reasons_for(actor, found.reasons), found.job.total_share_bp),
        "order": ORDERS.get(str(told.get("order", ""))),
        "told": told,
        "snapshot": snapshot_for(actor, found.snapshot),
        "engine": _engine(found) if may else "",
        "may_replay": may,
        "again": _again(found) if may and "replay" in request.GET else None,
        "criteria": [reasons.criterion(key) for key in ("bucket", "tie", "node_index")],
    }
    return render(request, "scheduling/decision.html", context)


def _engine(found: Decision) -> str:
    chain = found.snapshot.partition(".")[0]
    base = LedgerBase.objects.filter(pk=int(chain)).first() if chain.isdecimal() and found.digest else None
    return base.engine if base else ""


def _again(found: Decision) -> Again:
    try:
        again = replay_decision(found)
    except Lost as lost:
        return Again("warn", str(LOST.get(lost.code, lost)))
    if not again.same:
        text = _("Made again, it came out otherwise.")
        if not again.same_engine:
            text = _("Made again, it came out otherwise: by another version of the engine.")
        return Again("bad", text, again)
    return Again("ok", _("Made again from what was recorded: the same, bit for bit."), again, _places(found, again))


def _places(found: Decision, again: Replay) -> tuple[Place, ...]:
    names = dict(Node.objects.filter(pk__in=[parts.node_key for parts in again.others]).values_list("pk", "name"))
    chosen: Any = found.reasons.get("score", {}).get("node_key")
    return tuple(
        Place(
            names.get(parts.node_key, formats.count(parts.node_key)),
            reasons.criteria_of(asdict(parts)),
            parts.node_key == chosen,
        )
        for parts in again.others
    )
