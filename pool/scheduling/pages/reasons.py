"""Why a job runs where it runs, or why it waits: reasons, as the reader may know them (telling.py), in words."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from console.common import formats
from pool.inventory.models import Node
from pool.scheduling.pages import surroundings
from pool.scheduling.telling import CRITERIA, decided_by

FILTERS: dict[str, str | Promise] = {
    "schedulable": gettext_lazy("cordoned, draining, faulty or out of reach"),
    "model": gettext_lazy("another model than those allowed"),
    "vendor": gettext_lazy("of another vendor than those allowed, or not among those ranked"),
    "selector": gettext_lazy("its labels do not meet the conditions"),
    "mig_mode": gettext_lazy("in MIG mode, where only slices run; or out of it, where none do"),
    "isolation": gettext_lazy("in another use, or cannot be cut as asked"),
    "mig_profile": gettext_lazy("no free place for this MIG profile"),
    "memory": gettext_lazy("too little GPU memory"),
    "share": gettext_lazy("too little compute share free"),
    "trust": gettext_lazy("shared with tenants outside the trust group"),
    "node_cpu": gettext_lazy("its node has too little CPU free"),
    "node_memory": gettext_lazy("its node has too little memory free"),
    "affinity": gettext_lazy("too near work to keep away from, or not near its like"),
    "node_devices": gettext_lazy("its node has too few such devices"),
    "topology": gettext_lazy("would do, but not enough of them in one domain of the topology"),
    "gang": gettext_lazy("would do, but not enough of them for the whole gang"),
}
FIELDS: dict[str, str | Promise] = {
    "cpu_milli": gettext_lazy("CPU per replica"),
    "host_memory_mib": gettext_lazy("memory per replica"),
    "memory_mib": gettext_lazy("GPU memory"),
    "share_bp": gettext_lazy("share of a card"),
    "devices": gettext_lazy("devices per replica"),
    "min_member": gettext_lazy("replicas that must start together"),
    "models": gettext_lazy("allowed models"),
    "vendors": gettext_lazy("allowed vendors"),
    "preference": gettext_lazy("models and vendors by rank"),
    "gpu_selector": gettext_lazy("conditions on labels"),
    "gpu_cores_percent": gettext_lazy("compute per device, in percent"),
    "affinity": gettext_lazy("neighbours wanted or kept away"),
    "required_topology_level": gettext_lazy("topology level that must hold the job"),
    "mig_profile": gettext_lazy("MIG profile"),
    "isolation": gettext_lazy("isolation"),
}
_TIES: dict[str, str | Promise] = {
    "free_gpu": gettext_lazy("GPU share left free on the node"),
    "free_gpu_and_cpu": gettext_lazy("GPU share and CPU left free on the node"),
}
_TIE_FULL = 2**20 - 1  # of pool.engine.scoring: a wholly free largest node


@dataclass(frozen=True, slots=True)
class Row:
    """One criterion, best first; `decided`: winner and runner-up differ here first."""

    name: str
    winner: str
    other: str
    decided: bool


@dataclass(frozen=True, slots=True)
class Why:
    """`rows` of a placement, or `failed` and `changes` of a wait. `failed`: (reason, devices, nodes).

    The counts are None and there are no rows for a reader who may not know about others.
    """

    placed: bool
    summary: str
    rows: list[Row] = field(default_factory=list)
    winner: str = ""
    other: str = ""
    failed: list[tuple[str, int | None, int | None]] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    never: bool = False
    notes: list[str] = field(default_factory=list)  # where a gang stands, and which model it fell to
    levels: list[surroundings.LevelRow] = field(default_factory=list)

    @property
    def counted(self) -> bool:
        return any(nodes is not None for _reason, _devices, nodes in self.failed)


def explain(reasons: Mapping[str, Any], asked_bp: int = 0) -> Why:
    """`reasons` from telling.reasons_for. `asked_bp`: of the whole job."""
    if "score" in reasons or "decided_by" in reasons:
        why = _placed(reasons) if "score" in reasons else _told_shortly(str(reasons["decided_by"]))
        return replace(why, notes=surroundings.notes(reasons))
    if "limit" in reasons:
        return Why(False, " ".join([limit_text(reasons["limit"]), *_asked(reasons["limit"], asked_bp)]))
    return _refused(reasons)


def _told_shortly(key: str) -> Why:
    if not key:
        return Why(True, _("It was placed at once: nothing else had to be weighed."))
    return Why(True, _("Of the nodes that could hold it, this one was chosen by: %(name)s.") % {"name": criterion(key)})


def criterion(key: str, tie_rule: str = "free_gpu") -> str:
    return {
        "bucket": _("Change of fragmentation, compared in steps"),
        "tie": str(_TIES.get(tie_rule, tie_rule)),
        "node_index": _("Order of nodes"),
    }[key]


def _placed(reasons: Mapping[str, Any]) -> Why:
    score, other = reasons["score"], reasons.get("runner_up")
    considered = int(reasons.get("considered", 0))
    names = _node_names([score, other] if other else [score])
    winner = names.get(score["node_key"], _("the chosen node"))
    if considered == 1:
        summary = _("No other node could hold it: %(node)s was the only choice.") % {"node": winner}
    else:
        text = _("%(n)s nodes could hold it; the first criterion that differs decides.")
        summary = text % {"n": formats.count(considered)}
    return Why(
        placed=True,
        summary=summary,
        rows=_rows(score, other, decided_by(reasons)) if other else [],
        winner=winner,
        other=(names.get(other["node_key"]) or _("the next best node")) if other else "",
    )


def _node_names(scores: list[Mapping[str, Any]]) -> dict[int, str]:
    return dict(Node.objects.filter(pk__in=[score["node_key"] for score in scores]).values_list("pk", "name"))


def _rows(score: Mapping[str, Any], other: Mapping[str, Any], first: str) -> list[Row]:
    shown = zip(CRITERIA, criteria_of(score), criteria_of(other), strict=True)
    return [Row(criterion(key, score["tie_rule"]), ours, theirs, first == key) for key, ours, theirs in shown]


def criteria_of(score: Mapping[str, Any]) -> list[str]:
    """What a node scored in each of CRITERIA, in words."""
    return [_fragmentation(score), _part(score["tie"]), str(score["node_index"])]


def _fragmentation(score: Mapping[str, Any]) -> str:
    cards = Decimal(repr(float(score["fragmentation_change_bp"]))) / 10_000
    sign = "+" if cards > 0 else "−" if cards < 0 else "±"
    amount = f"{sign}{number_format(abs(cards), decimal_pos=3)}"
    return _("%(amount)s cards (step %(step)s)") % {"amount": amount, "step": score["bucket"]}


def _part(tie: int) -> str:
    return formats.percent(tie, _TIE_FULL)


def _refused(reasons: Mapping[str, Any]) -> Why:
    never = bool(reasons.get("never"))
    failed = [
        (str(FILTERS.get(item["filter"], item["filter"])), item.get("devices"), item.get("nodes"))
        for item in reasons.get("failed", [])
    ]
    summary = (
        _("No state of the present hardware can ever hold it.")
        if never
        else _("Nothing free holds it now. It starts as soon as something does.")
    )
    changes = [change_text(change) for change in reasons.get("changes", [])]
    return Why(False, summary, failed=failed, changes=changes, never=never, levels=surroundings.level_rows(reasons))


def change_text(change: Mapping[str, Any]) -> str:
    """One change that would admit the job now: "share of a card: 30 % of a card instead of 1/2 card"."""
    kind = str(change["kind"])
    return _("%(what)s: %(after)s instead of %(before)s") % {
        "what": FIELDS.get(kind, kind),
        "after": _amount(kind, change["after"]),
        "before": _amount(kind, change["before"]),
    }


def _amount(kind: str, value: Any) -> str:
    if not isinstance(value, int):
        if kind == "required_topology_level":
            return surroundings.level_name(str(value) or "fleet")
        return str(value).replace("|", ", ") or _("none")
    units = {
        "cpu_milli": formats.cpu,
        "host_memory_mib": formats.memory,
        "memory_mib": formats.memory,
        "share_bp": formats.share,
    }
    return units[kind](value) if kind in units else formats.count(value)


def limit_text(limit: Mapping[str, Any]) -> str:
    """Which limit holds a job back, and how much of it is used."""
    if limit["scope"] == "lending":
        return _("What is free is kept for the quota of another queue, which does not lend it.")
    if limit["scope"] in _BUDGETS:
        return _budget_text(limit)
    if limit["scope"] == "above" and not limit["name"]:
        return _("The limit of a queue above its own holds it back.")
    values = {"name": limit["name"], "use": limit_use(limit["kind"], limit["used"], limit["limit"] or 0)}
    if limit["scope"] in ("queue", "above"):
        return _("The limit of queue %(name)s holds it back: %(use)s in use.") % values
    if limit["scope"] == "project":
        return _("The limit of project %(name)s holds it back: %(use)s in use.") % values
    return _("The limit of tenant %(name)s holds it back: %(use)s in use.") % values


_BUDGETS = ("budget", "project_budget")


def _budget_text(limit: Mapping[str, Any]) -> str:
    if not limit["name"]:
        return _("The GPU-hour budget of a queue above its own holds it back.")
    values = {"name": limit["name"], "use": limit_use(limit["kind"], limit["used"], limit["limit"] or 0)}
    if limit["scope"] == "budget":
        return _("The GPU-hour budget of queue %(name)s holds it back: %(use)s used or reserved.") % values
    return _("The GPU-hour budget of project %(name)s holds it back: %(use)s used or reserved.") % values


def _asked(limit: Mapping[str, Any], asked_bp: int) -> list[str]:
    if limit["kind"] != "share_bp" or not asked_bp:
        return []
    return [_("This job asks for %(amount)s.") % {"amount": formats.share(asked_bp)}]


def limit_use(kind: str, used: int, limit: int) -> str:
    """ "62 of 64 cards", "4 of 4 running jobs"."""
    if kind == "running_jobs":
        text = ngettext("%(used)s of %(n)s running job", "%(used)s of %(n)s running jobs", limit)
        return text % {"used": formats.count(used), "n": formats.count(limit)}
    units = {"gpu_memory_mib": formats.memory, "cpu_milli": formats.cpu, "memory_mib": formats.memory}
    if kind == "card_s":  # basis-point-seconds
        values = {"used": formats.cards(used // 3600), "n": formats.cards(limit // 3600)}
        return _("%(used)s of %(n)s card-hours") % values
    if kind in units:
        show = units[kind]
        return _("%(used)s of %(limit)s") % {"used": show(used), "limit": show(limit)}
    return _("%(used)s of %(n)s cards") % {"used": formats.cards(used), "n": formats.cards(limit)}
