"""What budgets of GPU-hours say to a job that is not submitted yet, as the scheduler would say it (budgets.py)."""

from dataclasses import dataclass
from datetime import datetime

from pool.engine.kinds import Kind
from pool.engine.sharing.amounts import PLAIN, Weights, asked
from pool.engine.types import JobRequest
from pool.scheduling.limits import Limit
from pool.scheduling.models import Allocation, Queue
from pool.scheduling.places import Place
from pool.scheduling.sharing.budgets import Account, accounts, all_budgets, limit_of, path_of
from pool.scheduling.sharing.state import read_weights


@dataclass(frozen=True, slots=True)
class Foreseen:
    """Limits by budgets, the queue's first, then those above, then the project's; and what the job asks of each, in
    basis-point-seconds of a reference card."""

    limits: tuple[Limit, ...] = ()
    wanted: int = 0


def budgets_for(
    place: Place, request: JobRequest, kinds: list[Kind], bound_s: int | None, now: datetime, tells: bool
) -> Foreseen:
    """Those that could hold the job back. `bound_s`: it runs no longer (None: nothing ends it). `tells`: whether the
    reader may know of other tenants; else a budget of another's queue is named only by its refusal."""
    budgets = all_budgets()
    if not budgets:
        return Foreseen()
    queues = list(Queue.objects.only("pk", "parent_id"))
    path = path_of(queues, place.queue.pk)
    ours = [b for b in budgets if b.queue_id in path or b.project_id == place.project.pk]
    weights = read_weights()
    gpu = asked(request, kinds, weights)[0]
    if not ours or not gpu:
        return Foreseen()
    found = accounts(ours, queues, now, weights)
    found.sort(key=lambda each: path.index(each.budget.queue_id) if each.budget.queue_id in path else len(path))
    wanted = 1 if bound_s is None else gpu * bound_s // PLAIN
    in_quota = _held(place.queue, weights) + gpu // PLAIN <= place.queue.quota_share_bp
    limits = [_limit(each, place, wanted, tells) for each in found if _binds(each, in_quota)]
    return Foreseen(tuple(limit for limit in limits if limit is not None), wanted)


def _binds(account: Account, in_quota: bool) -> bool:
    """Whether anything is held back once this budget is used: all work, or only what is beyond the queue's quota."""
    rule = account.budget.when_spent
    return rule == "all" or (rule == "over_quota" and account.budget.queue_id is not None and not in_quota)


def _limit(account: Account, place: Place, wanted: int, tells: bool) -> Limit | None:
    limit = limit_of(account, account.left, place.tenant.pk)
    if tells or not limit.foreign:
        return limit
    return Limit(limit.scope, "", limit.kind, 0, 0, True) if limit.bites(wanted) else None


def _held(queue: Queue, weights: Weights) -> int:
    """Of the queue itself, in basis points of reference cards."""
    live = Allocation.objects.filter(released_at__isnull=True, job__queue=queue, device__isnull=False)
    rows = live.values_list("share_bp", "device__model__name")
    return sum(share * weights.of(model) for share, model in rows) // PLAIN
