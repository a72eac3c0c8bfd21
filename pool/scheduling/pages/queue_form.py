"""The form of a queue, new or changed. People write cards, GiB and cores; the service takes the units of the engine."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django import forms
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from console.common.actor import Actor
from console.common.choices import offer
from console.common.errors import Conflict, InvalidInput, NotAllowed
from console.common.signed_in import actor_of
from console.tenants import queries as tenants
from pool.scheduling import queries, services
from pool.scheduling.models import Queue
from pool.scheduling.services.queues import QueueLimits, may_manage
from pool.scheduling.shares import WHOLE

# field of the form: field of the service, units of the service in one of the form
AMOUNTS = {
    "limit_cards": ("limit_share_bp", WHOLE),
    "quota_cards": ("quota_share_bp", WHOLE),
    "lending_cards": ("lending_limit_bp", WHOLE),
    "quota_gpu_memory_gib": ("quota_gpu_memory_mib", 1024),
    "quota_cpus": ("quota_cpu_milli", 1000),
    "quota_memory_gib": ("quota_memory_mib", 1024),
    "limit_gpu_memory_gib": ("limit_gpu_memory_mib", 1024),
    "limit_cpus": ("limit_cpu_milli", 1000),
    "limit_memory_gib": ("limit_memory_mib", 1024),
}
PLAIN = ("limit_running_jobs", "over_quota_weight", "priority")
WEIGHING = tuple(name for name in AMOUNTS if not name.startswith("limit")) + PLAIN[1:]
_FIELD_OF = {field: name for name, (field, _units) in AMOUNTS.items()}


_NO_LIMIT = gettext_lazy("Empty: no limit.")
_AS_CARDS = gettext_lazy("Empty: as large a part of the pool as that of cards.")


def _amount(label: Any, help_text: Any) -> forms.DecimalField:
    return forms.DecimalField(
        label=label,
        required=False,
        min_value=Decimal(0),
        max_value=Decimal(10**8),
        decimal_places=2,
        help_text=help_text,
    )


class QueueForm(forms.Form):
    tenant = forms.ChoiceField(label=gettext_lazy("Tenant"))
    parent = forms.ChoiceField(
        label=gettext_lazy("Below"),
        required=False,
        help_text=gettext_lazy("It shares what the queue above it gets with the others there."),
    )
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
    lending_cards = _amount(
        gettext_lazy("Lending limit in cards"), gettext_lazy("Of its quota, what others may use. Empty: all of it.")
    )
    quota_gpu_memory_gib = _amount(gettext_lazy("Quota of GPU memory in GiB"), _AS_CARDS)
    quota_cpus = _amount(gettext_lazy("Quota of CPU cores"), _AS_CARDS)
    quota_memory_gib = _amount(gettext_lazy("Quota of memory in GiB"), _AS_CARDS)
    limit_gpu_memory_gib = _amount(gettext_lazy("Limit of GPU memory in GiB"), _NO_LIMIT)
    limit_cpus = _amount(gettext_lazy("Limit of CPU cores"), _NO_LIMIT)
    limit_memory_gib = _amount(gettext_lazy("Limit of memory in GiB"), _NO_LIMIT)
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

    def __init__(self, actor: Actor, queue: Queue | None, *args: Any, **kwargs: Any) -> None:
        """`queue` None: a new one."""
        super().__init__(*args, **kwargs)
        mine = [row for row in tenants.tenants_for(actor) if may_manage(actor, row.pk)]
        offer(self, "tenant", [(row.slug, row.name) for row in mine])
        above = [row for row in queries.queues_for(actor) if queue is None or row.pk != queue.pk]
        named = [
            (row.public_id, f"{row.tenant.slug} / {row.name}") for row in above if may_manage(actor, row.tenant_id)
        ]
        offer(self, "parent", [("", _("the top")), *named])
        if queue is not None:
            del self.fields["tenant"], self.fields["name"]
        if not actor.is_operator:  # they weigh it against the queues of others, or place it among them
            may = queue is not None and queue.parent is not None and may_manage(actor, queue.parent.tenant_id)
            for name in () if may else WEIGHING:
                del self.fields[name]
            if not may and queue is not None:
                del self.fields["parent"]

    def changes(self) -> dict[str, Any]:
        """Fields of QueueLimits that the form has."""
        given = {name: self.cleaned_data[name] for name in self.fields if name in self.cleaned_data}
        found: dict[str, Any] = {
            field: None if given[name] is None else int(given[name] * units)
            for name, (field, units) in AMOUNTS.items()
            if name in given
        }
        empty = {"over_quota_weight": Decimal(1), "priority": 0, "limit_running_jobs": None}
        found |= {name: empty[name] if given[name] is None else given[name] for name in PLAIN if name in given}
        if "quota_share_bp" in found:
            found["quota_share_bp"] = found["quota_share_bp"] or 0
        return found


def initial(queue: Queue) -> dict[str, Any]:
    """What the form shows of a queue."""
    amounts = {name: (getattr(queue, field), units) for name, (field, units) in AMOUNTS.items()}
    # "f": normalize alone writes forty as 4E+1
    shown = {n: None if v is None else f"{(Decimal(v) / units).normalize():f}" for n, (v, units) in amounts.items()}
    plain = {name: getattr(queue, name) for name in PLAIN}
    return {**shown, **plain, "parent": queue.parent.public_id if queue.parent else ""}


@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The form, and what it makes. Operators, and owners for their tenants."""
    actor = actor_of(request)
    if not may_add(actor):
        raise NotAllowed(_("queues are made by operators and by owners of the tenant"))
    form = QueueForm(actor, None, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid() and (made := _guarded(form, lambda: _create(actor, form))):
        return HttpResponseRedirect(reverse("scheduling:queue_detail", args=[made.public_id]))
    return render(request, "scheduling/queue_new.html", {"form": form}, status=422 if form.errors else 200)


@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, public_id: str) -> HttpResponse:
    """Limits, shares and place of a queue. Operators, and owners for theirs."""
    actor = actor_of(request)
    queue = queries.queue_for(actor, public_id)
    if not may_manage(actor, queue.tenant_id):
        raise NotAllowed(_("queues are changed by operators and by owners of the tenant"))
    form = QueueForm(actor, queue, request.POST if request.method == "POST" else None, initial=initial(queue))
    if form.is_bound and form.is_valid() and _guarded(form, lambda: _change(actor, queue, form)):
        return HttpResponseRedirect(reverse("scheduling:queue_detail", args=[queue.public_id]))
    context = {"form": form, "queue": queue}
    return render(request, "scheduling/queue_new.html", context, status=422 if form.errors else 200)


def may_add(actor: Actor) -> bool:
    """Whether there is a tenant that the actor may make a queue for."""
    return actor.is_operator or any(may_manage(actor, tenant) for tenant in actor.tenants)


def _create(actor: Actor, form: QueueForm) -> Queue:
    tenant = tenants.tenant_for(actor, form.cleaned_data["tenant"])
    name, limits = form.cleaned_data["name"], QueueLimits(**form.changes())
    return services.create_queue(actor, tenant, name, limits, _parent(actor, form))


def _change(actor: Actor, queue: Queue, form: QueueForm) -> Queue:
    with transaction.atomic():
        services.edit_queue(actor, queue, form.changes())
        parent = _parent(actor, form)
        if "parent" in form.fields and (parent and parent.pk) != queue.parent_id:
            services.move_queue(actor, queue, parent)
    return queue


def _parent(actor: Actor, form: QueueForm) -> Queue | None:
    chosen = form.cleaned_data.get("parent")
    return queries.queue_for(actor, chosen) if chosen else None


def _guarded(form: QueueForm, act: Callable[[], Queue]) -> Queue | None:
    """The queue; None where it was refused, which the form then says."""
    try:
        return act()
    except Conflict as refusal:
        form.add_error("name" if "name" in form.fields else None, refusal.message)
    except InvalidInput as refusal:
        for error in refusal.errors:
            field = _FIELD_OF.get(error.field, error.field)
            form.add_error(field if field in form.fields else None, error.message)
    return None
