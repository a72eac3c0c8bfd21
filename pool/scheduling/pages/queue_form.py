"""The form of a new queue. People write cards; the service takes basis points of a card."""

from decimal import Decimal
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from console.common.actor import Actor
from console.common.errors import Conflict, InvalidInput, NotAllowed
from console.tenants import queries as tenants
from pool.scheduling import services
from pool.scheduling.services.queues import QueueLimits, may_manage
from pool.scheduling.shares import WHOLE

_WEIGHING = ("quota_cards", "over_quota_weight", "priority")
_FIELD_OF = {"limit_share_bp": "limit_cards", "quota_share_bp": "quota_cards"}


class QueueForm(forms.Form):
    tenant = forms.ChoiceField(label=gettext_lazy("Tenant"))
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=64,
        help_text=gettext_lazy("Letters, digits, hyphens and underscores."),
    )
    limit_cards = forms.DecimalField(
        label=gettext_lazy("Limit in cards"),
        required=False,
        min_value=Decimal("0.01"),
        max_value=Decimal(10**8),
        decimal_places=2,
        help_text=gettext_lazy("What its jobs hold at once, at most. Empty: no limit."),
    )
    limit_running_jobs = forms.IntegerField(
        label=gettext_lazy("Limit of active jobs"),
        required=False,
        min_value=1,
        help_text=gettext_lazy("Empty: no limit."),
    )
    quota_cards = forms.DecimalField(
        label=gettext_lazy("Quota in cards"),
        required=False,
        min_value=0,
        max_value=Decimal(10**8),
        decimal_places=2,
        help_text=gettext_lazy("What it is entitled to before others. Empty: nothing."),
    )
    over_quota_weight = forms.DecimalField(
        label=gettext_lazy("Over-quota weight"),
        required=False,
        min_value=0,
        decimal_places=3,
        help_text=gettext_lazy("How it shares what is free beyond the quotas. Empty: 1."),
    )
    priority = forms.IntegerField(
        label=gettext_lazy("Priority"),
        required=False,
        min_value=-1000,
        max_value=1000,
        help_text=gettext_lazy("Higher waits less, from -1000 to 1000"),
    )

    def __init__(self, actor: Actor, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        mine = [row for row in tenants.tenants_for(actor) if may_manage(actor, row.pk)]
        self.fields["tenant"].choices = [(row.slug, row.name) for row in mine]  # type: ignore[attr-defined]
        if not actor.is_operator:  # they weigh it against the queues of others
            for name in _WEIGHING:
                del self.fields[name]

    def limits(self) -> QueueLimits:
        given = self.cleaned_data
        weight = given.get("over_quota_weight")
        return QueueLimits(
            limit_share_bp=_basis_points(given["limit_cards"]),
            limit_running_jobs=given["limit_running_jobs"],
            quota_share_bp=_basis_points(given.get("quota_cards")) or 0,
            over_quota_weight=Decimal(1) if weight is None else weight,
            priority=given.get("priority") or 0,
        )


@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The form, and what it makes. Operators, and owners for their tenants."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    if not may_add(actor):
        raise NotAllowed(_("queues are made by operators and by owners of the tenant"))
    form = QueueForm(actor, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        made = _create(actor, form)
        if made is not None:
            return HttpResponseRedirect(reverse("scheduling:queue_detail", args=[made]))
    return render(request, "scheduling/queue_new.html", {"form": form}, status=422 if form.errors else 200)


def may_add(actor: Actor) -> bool:
    """Whether there is a tenant that the actor may make a queue for."""
    return actor.is_operator or any(may_manage(actor, tenant) for tenant in actor.tenants)


def _create(actor: Actor, form: QueueForm) -> str | None:
    """The new queue's public id; None where it was refused, which the form then says."""
    tenant = tenants.tenant_for(actor, form.cleaned_data["tenant"])
    try:
        return services.create_queue(actor, tenant, form.cleaned_data["name"], form.limits()).public_id
    except Conflict as refusal:
        form.add_error("name", refusal.message)
    except InvalidInput as refusal:
        for error in refusal.errors:
            field = _FIELD_OF.get(error.field, error.field)
            form.add_error(field if field in form.fields else None, error.message)
    return None


def _basis_points(cards: Decimal | None) -> int | None:
    return None if cards is None else int(cards * WHOLE)
