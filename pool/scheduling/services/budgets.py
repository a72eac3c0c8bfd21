"""Budgets of GPU-hours: set, lifted and watched."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import structlog
from django.db import transaction
from django.utils.translation import gettext as _

from console.audit import services as audit
from console.common.actor import Actor, system
from console.common.errors import FieldError, InvalidInput, NotAllowed
from console.tenants.models import Project
from pool.scheduling import wake
from pool.scheduling.models import Budget, Queue
from pool.scheduling.sharing.budgets import HOUR_UNITS, Account, accounts, all_budgets
from pool.scheduling.sharing.state import read_weights

log = structlog.get_logger(__name__)
_WATCH = system("budgets")
_MOST = Decimal(10**9)


@dataclass(frozen=True, slots=True)
class BudgetSet:
    """`hours` of the reference card a period; `when_spent`: what is held back then; `warn_percent` of it is told."""

    hours: Decimal = Decimal(0)
    period: str = Budget.Period.MONTH
    when_spent: str = Budget.WhenSpent.ALL
    warn_percent: int = 80

    @staticmethod
    def of(row: Budget) -> "BudgetSet":
        return BudgetSet(**{field.name: getattr(row, field.name) for field in fields(BudgetSet)})


def may_budget(actor: Actor, owner: Queue | Project, row: Budget | None = None) -> bool:
    """Operators; owners of the tenant, where no operator has set one. A token needs the scope jobs:write."""
    owns = actor.owns(owner.tenant_id) and not (row is not None and row.by_operator)
    return (actor.is_operator or owns) and actor.has_scope("jobs:write")


def set_budget(actor: Actor, owner: Queue | Project, changes: Mapping[str, Any]) -> Budget:
    """Of a queue with all below it, or of a project. What is not named stays, or is as in BudgetSet; the same again is
    no change. The scheduler goes by it at once; what runs goes on. Raises NotAllowed, InvalidInput."""
    with transaction.atomic():
        row = Budget.objects.filter(**_key(owner)).first()
        if not may_budget(actor, owner, row):
            raise NotAllowed(
                _("budgets are set by operators, and by owners of the tenant where no operator has set one")
            )
        before = BudgetSet.of(row) if row else None
        after = replace(before or BudgetSet(), **changes)
        wrong = _wrong(after, is_new=before is None, named=changes)
        if wrong:
            raise InvalidInput(wrong)
        if before != after or row is None:
            told = (_told(before) if before else None, _told(after))
            # a larger budget is warned of anew
            values = {**asdict(after), "by_operator": actor.is_operator, "warned_for": None, "spent_for": None}
            row = Budget.objects.update_or_create(**_key(owner), defaults=values)[0]
            audit.record(actor, "budget.set", owner, tenant_id=owner.tenant_id, before=told[0], after=told[1])
            wake.scheduler(queues=True)
    return row


def lift_budget(actor: Actor, owner: Queue | Project) -> bool:
    """False: there was none. Raises NotAllowed."""
    with transaction.atomic():
        row = Budget.objects.filter(**_key(owner)).first()
        if not may_budget(actor, owner, row):
            raise NotAllowed(
                _("budgets are set by operators, and by owners of the tenant where no operator has set one")
            )
        if row is None or not Budget.objects.filter(pk=row.pk).delete()[0]:
            return False
        audit.record(actor, "budget.lift", owner, tenant_id=owner.tenant_id, before=_told(BudgetSet.of(row)))
        wake.scheduler(queues=True)
    return True


def warn_of_budgets(now: datetime) -> int:
    """Tells once a period that a budget is nearly used, and once that it is; returns how many were told."""
    budgets = all_budgets()
    told = 0
    for account in accounts(budgets, Queue.objects.all(), now, read_weights()) if budgets else ():
        told += _tell(account)
    return told


def _tell(account: Account) -> bool:
    budget = account.budget
    spent = account.used >= account.most
    near = account.used * 100 >= account.most * budget.warn_percent
    field = "spent_for" if spent else "warned_for"
    if not (spent or near) or getattr(budget, field) == account.start:
        return False
    values = {"spent_for": account.start, "warned_for": account.start} if spent else {field: account.start}
    owner = budget.queue or budget.project
    with transaction.atomic():
        fresh = Budget.objects.filter(pk=budget.pk).exclude(**{field: account.start})
        if owner is None or not fresh.update(**values):
            return False
        action = "budget.spent" if spent else "budget.warn"
        after = {"used_h": _hours(account.used), "of_h": _hours(account.most)}
        audit.record(_WATCH, action, owner, tenant_id=owner.tenant_id, after=after)
    log.warning(action.replace(".", "_"), of=owner.public_id, **after)
    return True


def _hours(unit_s: int) -> str:
    return str(round(Decimal(unit_s) / HOUR_UNITS, 2))


def _key(owner: Queue | Project) -> dict[str, Any]:
    return {"queue": owner} if isinstance(owner, Queue) else {"project": owner}


def _told(budget: BudgetSet) -> dict[str, Any]:
    return {**asdict(budget), "hours": str(budget.hours.normalize())}


def _wrong(budget: BudgetSet, is_new: bool, named: Mapping[str, Any]) -> list[FieldError]:
    wrong = []
    hours = budget.hours
    if is_new and "hours" not in named:
        wrong.append(FieldError("hours", _("is required")))
    elif not isinstance(hours, Decimal) or not hours.is_finite() or not 0 <= hours <= _MOST or hours != round(hours, 2):
        wrong.append(FieldError("hours", _("must be from 0 to 1000000000, with two decimals at most")))
    for name, choices in (("period", Budget.Period.values), ("when_spent", Budget.WhenSpent.values)):
        if getattr(budget, name) not in choices:
            wrong.append(FieldError(name, _("must be one of: %s") % ", ".join(choices)))
    percent = asdict(budget)["warn_percent"]
    if isinstance(percent, bool) or not isinstance(percent, int) or not 1 <= percent <= 100:
        text = _("must be a whole number from %(low)s to %(high)s") % {"low": 1, "high": 100}
        wrong.append(FieldError("warn_percent", text))
    return wrong
