"""What of a decision's reasons a reader may know.

Who sees all work gets everything. Of the pool's counts, of how full a shared node is and of how the next best node
compares, a tenant could infer what others hold (invariant I5). It gets what is about its own job: which checks stopped
it, the smallest changes that would admit it, its own limits, and which criterion decided.
"""

from collections.abc import Mapping
from typing import Any

from console.common.actor import Actor
from pool.engine.funnel import FILTERS

CRITERIA = ("bucket", "tie", "node_index")
_SAME = {"trust": "share"}  # that somebody else is on a card is theirs to know: it has too little room


def reasons_for(actor: Actor, reasons: Mapping[str, Any]) -> dict[str, Any]:
    """As stored (services.placement.reasons_of) for who sees all work. For others:

    placed {"decided_by": one of CRITERIA, or "" where nothing had to, and its "neighbourhood" and "preference"},
    refused {"failed": [{"filter"}], "changes", "never", "role"} without counts, or {"limit"}.
    """
    if actor.sees_all_work:
        return dict(reasons)
    if "score" in reasons:
        return {"decided_by": decided_by(reasons)} | _own_place(reasons)
    if "limit" in reasons:
        return {"limit": _own_part(reasons["limit"])}
    stopped = {_SAME.get(item["filter"], item["filter"]) for item in reasons.get("failed", [])}
    # in the order of the checks: an order by count would tell the counts
    named = [name for name in FILTERS if name in stopped]
    told: dict[str, Any] = {"failed": [{"filter": name} for name in named]}
    return told | {name: reasons[name] for name in ("changes", "never", "role") if name in reasons}


def inputs_for(actor: Actor, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What a decision was made on (ledger/inputs.py). For those who do not see all work: by which rule the job came,
    and the shares of its own queue."""
    if actor.sees_all_work:
        return dict(inputs)
    return {name: inputs[name] for name in ("order", "before", "after", "entitled") if name in inputs}


def snapshot_for(actor: Actor, snapshot: str) -> str:
    """The number of changes in it rises with everybody's work."""
    return snapshot if actor.sees_all_work else ""


def _own_part(limit: Mapping[str, Any]) -> dict[str, Any]:
    """Of a queue of somebody else, only that it is in the way."""
    if not limit.get("foreign"):
        return dict(limit)
    return {"scope": limit["scope"], "name": "", "kind": limit["kind"], "limit": None, "used": 0, "foreign": True}


def _own_place(reasons: Mapping[str, Any]) -> dict[str, Any]:
    """Where a job's own replicas stand; not how much room other domains would have had."""
    told = {name: reasons[name] for name in ("preference",) if name in reasons}
    if "neighbourhood" in reasons:
        hidden = {"rivals", "best_inside"}
        told["neighbourhood"] = {k: value for k, value in reasons["neighbourhood"].items() if k not in hidden}
    return told


def decided_by(reasons: Mapping[str, Any]) -> str:
    """The first criterion in which winner and runner-up differ; empty without a runner-up."""
    score, other = reasons["score"], reasons.get("runner_up")
    return next((key for key in CRITERIA if other and score[key] != other[key]), "")
