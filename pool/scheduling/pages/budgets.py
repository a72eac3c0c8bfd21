"""Budgets of GPU-hours: how they stand, and the form that sets one."""

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods

from console.common.actor import Actor
from console.common.choices import offer
from console.common.errors import InvalidInput, NotAllowed
from console.common.signed_in import actor_of
from console.tenants.models import Project
from console.tenants.queries import projects_for
from pool.scheduling import queries, services
from pool.scheduling.models import Budget, Queue
from pool.scheduling.pages.queue_form import may_add
from pool.scheduling.services.budgets import may_budget
from pool.scheduling.sharing import budget_queries as budgets


class BudgetForm(forms.Form):
    of = forms.ChoiceField(label=gettext_lazy("Queue or project"), help_text=gettext_lazy("A queue with all below it."))
    hours = forms.DecimalField(
        label=gettext_lazy("Hours of the reference card"),
        min_value=0,
        max_value=Decimal(10**9),
        decimal_places=2,
        help_text=gettext_lazy("An hour of a card that weighs more counts for more."),
    )
    period = forms.ChoiceField(
        label=gettext_lazy("In each"),
        choices=Budget.Period.choices,
        help_text=gettext_lazy("Begins by the tenant's own time zone."),
    )
    when_spent = forms.ChoiceField(
        label=gettext_lazy("Once they are used up"),
        choices=Budget.WhenSpent.choices,
        help_text=gettext_lazy("What runs goes on; what waits is held back, and its page says why."),
    )
    warn_percent = forms.IntegerField(
        label=gettext_lazy("Warn at percent"),
        min_value=1,
        max_value=100,
        help_text=gettext_lazy("Here and in the audit log, once a period."),
    )

    def __init__(self, actor: Actor, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "of", _owners(actor))


@require_GET
def budget_list(request: HttpRequest) -> HttpResponse:
    """Of queues and projects in sight."""
    actor = actor_of(request)
    rows = [(told, may_budget(actor, told.owner, told.budget)) for told in budgets.budgets_for(actor)]
    several = actor.sees_all_work or len(actor.tenants) > 1
    context = {"rows": rows, "may_add": may_add(actor), "several_tenants": several}
    return render(request, "scheduling/budgets.html", context)


@require_http_methods(["GET", "POST"])
def budget_form(request: HttpRequest) -> HttpResponse:
    """`?of=` names the queue or project; POST sets, or with `lift` lifts."""
    actor = actor_of(request)
    if not may_add(actor):
        raise NotAllowed(_("budgets are set by operators, and by owners of the tenant where no operator has set one"))
    chosen = (request.POST.get("of") or request.GET.get("of", "")).replace("\0", "")
    owner = budgets.owner_for(actor, chosen) if chosen else None
    told = budgets.budget_of(actor, owner) if owner is not None else None
    if owner is not None and not may_budget(actor, owner, told.budget if told else None):
        raise NotAllowed(_("budgets are set by operators, and by owners of the tenant where no operator has set one"))
    if request.method == "POST" and "lift" in request.POST and owner is not None:
        if services.lift_budget(actor, owner):
            messages.success(request, _("The budget is lifted."))
        return HttpResponseRedirect(reverse("scheduling:budget_list"))
    form = BudgetForm(actor, request.POST if request.method == "POST" else None, initial=_initial(chosen, told))
    if form.is_bound and form.is_valid() and owner is not None and _set(actor, owner, form):
        return HttpResponseRedirect(reverse("scheduling:budget_list"))
    context = {"form": form, "told": told}
    return render(request, "scheduling/budget_form.html", context, status=422 if form.errors else 200)


def _owners(actor: Actor) -> list[tuple[str, str]]:
    named: list[tuple[Queue | Project, str]] = [
        (row, _("Queue %(name)s") % {"name": f"{row.tenant.slug} / {row.name}"}) for row in queries.queues_for(actor)
    ]
    named += [(row, _("Project %(name)s") % {"name": f"{row.tenant.slug} / {row.slug}"}) for row in projects_for(actor)]
    return [(row.public_id, text) for row, text in named if may_budget(actor, row)]


def _initial(chosen: str, told: budgets.Told | None) -> dict[str, Any]:
    if told is None:
        return {"of": chosen, "period": "month", "when_spent": "all", "warn_percent": 80}
    values = {name: getattr(told.budget, name) for name in ("period", "when_spent", "warn_percent")}
    return {"of": chosen, "hours": f"{told.budget.hours.normalize():f}", **values}


def _set(actor: Actor, owner: Queue | Project, form: BudgetForm) -> bool:
    values = {name: form.cleaned_data[name] for name in ("hours", "period", "when_spent", "warn_percent")}
    try:
        services.set_budget(actor, owner, values)
    except InvalidInput as refusal:
        for error in refusal.errors:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        return False
    return True
