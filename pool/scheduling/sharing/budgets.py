"""Budgets of GPU-hours in the scheduler: whether a waiting job may start, by what is used and what is reserved.

A job is taken to run for as long as it may (its maximum duration, or until its deadline); what it does not use is free
again when it ends. One without a time limit starts while anything is left, and uses as it runs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pool.engine.sharing import NOTHING, Purse, QueueSpec, Tree, Weights
from pool.engine.sharing import Budget as Rule
from pool.engine.sharing.amounts import PLAIN
from pool.engine.types import WHOLE, Hold
from pool.scheduling.limits import Limit
from pool.scheduling.models import Budget, Queue
from pool.scheduling.sharing import use
from pool.scheduling.sharing.layout import Layout, key_of, queue_of
from pool.scheduling.sharing.periods import period_of
from pool.scheduling.sharing.state import Sharing
from pool.scheduling.waiting import Waiting

PERIOD = timedelta(seconds=10)  # between two readings of what was used
HOUR_UNITS = WHOLE * PLAIN * 3600  # an hour of the reference card, in unit-seconds
CARD_HOUR = WHOLE * 3600  # as told: basis-point-seconds of a reference card


@dataclass(frozen=True, slots=True)
class Account:
    """A budget within its present period, in unit-seconds."""

    budget: Budget
    start: datetime
    end: datetime
    most: int
    used: int
    reserved: int

    @property
    def left(self) -> int:
        return self.most - self.used - self.reserved


def accounts(budgets: Sequence[Budget], queues: Iterable[Queue], now: datetime, weights: Weights) -> list[Account]:
    """How budgets stand; those of queues count all below. Their tenants must be loaded. Four
    queries a start of periods and one more, or none."""
    if not budgets:
        return []
    spans = {budget.pk: period_of(budget.period, zone_of(budget), now) for budget in budgets}
    lines = {start: use.total(start, now, weights) for start in {start for start, _ in spans.values()}}
    live = use.reserved(now, weights)
    above = _above(queues)
    found = []
    for budget in budgets:
        start, end = spans[budget.pk]
        spent = sum(line.unit_s for line in lines[start] if _of(budget, line, above))
        kept = sum(line.unit_s for line in live if _of(budget, line, above))
        found.append(Account(budget, start, end, int(budget.hours * HOUR_UNITS), spent, kept))
    return found


def zone_of(budget: Budget) -> str:
    owner = budget.queue or budget.project
    return owner.tenant.time_zone if owner is not None else "UTC"


def _above(queues: Iterable[Queue]) -> dict[int, set[int]]:
    """Each queue with all above it."""
    parents = {queue.pk: queue.parent_id for queue in queues}
    return {pk: set(_path(parents, pk)) for pk in parents}


def path_of(queues: Iterable[Queue], pk: int) -> list[int]:
    """A queue and all above it, upwards."""
    return _path({queue.pk: queue.parent_id for queue in queues}, pk)


def _path(parents: Mapping[int, int | None], pk: int) -> list[int]:
    path, at = [pk], parents.get(pk)
    while at is not None and at not in path:
        path.append(at)
        at = parents.get(at)
    return path


def _of(budget: Budget, line: use.Used | use.Reserved, above: dict[int, set[int]]) -> bool:
    if budget.queue_id is not None:
        return budget.queue_id in above.get(line.queue, ())
    return budget.project_id == line.project


def all_budgets() -> list[Budget]:
    return list(Budget.objects.select_related("queue__tenant", "project__tenant").order_by("pk"))


class Budgets:
    """One thread owns it. Costs one query every ten seconds while there is no budget, and nothing a job."""

    def __init__(self, sharing: Sharing) -> None:
        self.sharing = sharing
        self.accounts: list[Account] = []
        self._due: datetime | None = None
        self._queues: Purse | None = None
        self._projects: Purse | None = None
        self._started: dict[int, int] = {}  # units of a queue placed since the reading

    def refresh(self, now: datetime) -> None:
        """Reads what was used, if that is due."""
        if self._due is not None and now < self._due:
            return
        self._due = now + PERIOD
        budgets, queues = all_budgets(), self.sharing.waiting.queues
        self.accounts = accounts(budgets, queues.values(), now, self.sharing.mirror.holdings.weights)
        of_queues = [each for each in self.accounts if each.budget.queue_id in queues]
        of_projects = [each for each in self.accounts if each.budget.project_id is not None]
        self._queues = self._purse(self.sharing.layout, of_queues) if of_queues else None
        self._projects = _purse_of_projects(of_projects) if of_projects else None
        self._started = {}

    def forget(self) -> None:
        """Somebody changed a budget: it is read at the next occasion."""
        self._due = None

    def bars(self, item: Waiting, now: datetime) -> Limit | None:
        """The budget that a waiting job does not fit in."""
        if self._queues is None and self._projects is None:
            return None
        gpu, duration = self.sharing.asks(item)[0], item.bound_s(now)
        if self._queues is not None:
            within = self._within_quota(item, gpu)
            found = self._queues.refuses(self.sharing.leaf(item), gpu, duration, within)
            if found is not None:
                account = next(a for a in self.accounts if a.budget.queue_id == queue_of(found.queue))
                return limit_of(account, found.left, item.tenant_id)
        if self._projects is not None and item.project_id in self._projects.tree.path:
            found = self._projects.refuses(item.project_id, gpu, duration, True)
            if found is not None:
                account = next(a for a in self.accounts if a.budget.project_id == item.project_id)
                return limit_of(account, found.left, item.tenant_id)
        return None

    def asked(self, item: Waiting, limit: Limit, now: datetime) -> int:
        """What the job asks of a budget that bars it, in the limit's own units; more than is left, as it was barred."""
        gpu, duration = self.sharing.asks(item)[0], item.bound_s(now)
        return max(1 if duration is None else gpu * duration // PLAIN, (limit.left() or 0) + 1)

    def count(self, item: Waiting, holds: Sequence[Hold], now: datetime, sign: int = 1) -> None:
        """A job was placed (`sign` -1: not after all)."""
        if self._queues is None and self._projects is None:
            return
        units = sum(self.sharing.mirror.holdings.units(hold) for hold in holds)
        self._started[item.queue_id] = self._started.get(item.queue_id, 0) + sign * units
        duration = item.bound_s(now)
        for purse, leaf in ((self._queues, self.sharing.leaf(item)), (self._projects, item.project_id)):
            if purse is None or leaf not in purse.tree.path:
                continue
            if sign < 0:
                purse.end(item.pk, 0)
            elif item.pk not in purse.jobs:
                purse.start(item.pk, leaf, units, duration)

    def _within_quota(self, item: Waiting, gpu: int) -> bool:
        held = self.sharing.mirror.holdings.of(item.queue_id)[0] + self._started.get(item.queue_id, 0)
        return held + gpu <= self.sharing.waiting.queues[item.queue_id].quota_share_bp * PLAIN

    def _purse(self, layout: Layout, found: list[Account]) -> Purse:
        tree = layout.tree(NOTHING)
        keys = {key_of(each.budget.queue_id): each for each in found if each.budget.queue_id is not None}
        return _filled(tree, keys)


def _purse_of_projects(found: list[Account]) -> Purse:
    keys = {each.budget.project_id: each for each in found if each.budget.project_id is not None}
    return _filled(Tree([QueueSpec(key) for key in keys], NOTHING), keys)


def _filled(tree: Tree, keys: dict[int, Account]) -> Purse:
    rules = {key: Rule(each.most, each.budget.when_spent) for key, each in keys.items()}  # type: ignore[arg-type]
    spent = {key: each.used for key, each in keys.items()}
    return Purse(tree, rules, spent, {key: each.reserved for key, each in keys.items()})


def limit_of(account: Account, left: int, tenant_id: int) -> Limit:
    """As told to that tenant, in basis-point-seconds of a reference card; `used` counts what running jobs have
    reserved."""
    owner = account.budget.queue or account.budget.project
    if owner is None:
        raise TypeError(f"budget {account.budget.pk} is of nothing")
    scope, name = ("budget", owner.name) if isinstance(owner, Queue) else ("project_budget", owner.slug)
    used = (account.most - left) // PLAIN
    return Limit(scope, name, "card_s", account.most // PLAIN, used, owner.tenant_id != tenant_id)
