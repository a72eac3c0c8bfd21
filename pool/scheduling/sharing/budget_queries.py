"""Budgets as the acting user may see them."""

from dataclasses import dataclass

from django.db.models import Q
from django.utils.translation import gettext as _

from console.common import clock
from console.common.actor import Actor
from console.common.errors import NotFound
from console.tenants.models import Project
from pool.scheduling import queries
from pool.scheduling.models import Budget, Queue
from pool.scheduling.sharing.budgets import CARD_HOUR, Account, accounts
from pool.scheduling.sharing.state import read_weights


@dataclass(frozen=True, slots=True)
class Told:
    """A budget in its present period; hours of the reference card. `over`: more is used than there was."""

    account: Account
    owner: Queue | Project
    used_h: float
    reserved_h: float
    left_h: float
    most_h: float

    @property
    def budget(self) -> Budget:
        return self.account.budget

    @property
    def state(self) -> str:
        """spent, near (at its mark) or within."""
        if self.account.used >= self.account.most:
            return "spent"
        return "near" if self.account.used * 100 >= self.account.most * self.budget.warn_percent else "within"

    @property
    def percent(self) -> int:
        return min(999, self.account.used * 100 // self.account.most) if self.account.most else 100


def budgets_for(actor: Actor) -> list[Told]:
    """Those of queues and projects in sight, queues first, by name."""
    rows = Budget.objects.select_related("queue__tenant", "project__tenant")
    if not actor.sees_all_work:
        rows = rows.filter(Q(queue__tenant__in=list(actor.tenants)) | Q(project__tenant__in=list(actor.tenants)))
    found = accounts(list(rows), Queue.objects.all(), clock.now(), read_weights()) if rows else []
    told = [_told(account) for account in found]
    return sorted(told, key=lambda each: (isinstance(each.owner, Project), each.owner.tenant.slug, str(each.owner)))


def budget_of(actor: Actor, owner: Queue | Project) -> Told | None:
    """Of a queue or project that came from a scoped query."""
    return next((each for each in budgets_for(actor) if each.owner == owner), None)


def project_for(actor: Actor, public_id: str) -> Project:
    """Raises NotFound, also for another tenant's."""
    rows = Project.objects.filter(queries.own(actor)).select_related("tenant")  # as of work: finance sees none
    found = rows.filter(public_id=public_id).first()
    if found is None:
        raise NotFound(_("there is no such project"))
    return found


def owner_for(actor: Actor, public_id: str) -> Queue | Project:
    """The queue or project of this id. Raises NotFound, also for another tenant's."""
    return project_for(actor, public_id) if public_id.startswith("prj_") else queries.queue_for(actor, public_id)


def _told(account: Account) -> Told:
    owner = account.budget.queue or account.budget.project
    if owner is None:
        raise TypeError(f"budget {account.budget.pk} is of nothing")
    per = CARD_HOUR * 100
    parts = (account.used, account.reserved, account.left, account.most)
    used, reserved, left, most = (round(part / per, 2) for part in parts)
    return Told(account, owner, used, reserved, max(0.0, left), most)
