"""The form of a new reservation, and giving one up. Times are those of the person's own clock."""

from datetime import UTC, datetime, time, timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from console.common import clock
from console.common.actor import Actor
from console.common.choices import offer
from console.common.errors import Conflict, InvalidInput, NotAllowed
from console.common.signed_in import actor_of
from console.tenants.queries import tenant_for, tenants_for
from pool.engine.levels import LEVELS
from pool.inventory.models import DeviceModel
from pool.scheduling import queries, services
from pool.scheduling.calendar import queries as calendar
from pool.scheduling.models import Reservation
from pool.scheduling.pages.surroundings import level_name
from pool.scheduling.services.reservations import may_reserve

_WHEN = "%Y-%m-%dT%H:%M"
_FIELD_OF = {"lead_s": "lead_min", "give_back_s": "give_back_min", "queue": "of"}


def _when(label: Any) -> forms.DateTimeField:
    return forms.DateTimeField(
        label=label, input_formats=[_WHEN], widget=forms.DateTimeInput({"type": "datetime-local"}, format=_WHEN)
    )


class ReservationForm(forms.Form):
    of = forms.ChoiceField(
        label=gettext_lazy("For"), help_text=gettext_lazy("A tenant with all its queues, or one of them.")
    )
    name = forms.CharField(label=gettext_lazy("Name"), max_length=120)
    replicas = forms.IntegerField(label=gettext_lazy("Groups of cards"), min_value=1, max_value=100_000, initial=1)
    cards = forms.IntegerField(
        label=gettext_lazy("Cards in each"),
        min_value=1,
        max_value=64,
        initial=8,
        help_text=gettext_lazy("Whole cards of one node."),
    )
    models = forms.MultipleChoiceField(
        label=gettext_lazy("Models"), required=False, help_text=gettext_lazy("None: any.")
    )
    level = forms.ChoiceField(label=gettext_lazy("All within one"), required=False)
    starts_at = _when(gettext_lazy("Starts"))
    ends_at = _when(gettext_lazy("Ends"))
    every = forms.ChoiceField(label=gettext_lazy("Again"), choices=Reservation.Every.choices)
    until = forms.DateField(
        label=gettext_lazy("Until"),
        required=False,
        widget=forms.DateInput({"type": "date"}, format="%Y-%m-%d"),
        help_text=gettext_lazy("The last day on which it begins. Empty: without end."),
    )
    lead_min = forms.IntegerField(
        label=gettext_lazy("Lead time in minutes"),
        min_value=0,
        max_value=43_200,
        initial=60,
        help_text=gettext_lazy("So long before, cards are chosen and kept for work that ends in time."),
    )
    lends = forms.BooleanField(
        label=gettext_lazy("Lend what is not used to work that can be preempted"), required=False, initial=True
    )
    give_back_min = forms.DecimalField(
        label=gettext_lazy("Given back within minutes"),
        min_value=0,
        max_value=1_440,
        decimal_places=1,
        initial=2,
        help_text=gettext_lazy("Work that may not be stopped as quickly is not let in."),
    )

    def __init__(self, actor: Actor, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        tenants = list(tenants_for(actor))
        whole = [(f"tenant:{row.slug}", _("%(tenant)s, all queues") % {"tenant": row.slug}) for row in tenants]
        single = [(row.public_id, f"{row.tenant.slug} / {row.name}") for row in queries.queues_for(actor)]
        models = DeviceModel.objects.order_by("name").values_list("name", flat=True)
        offer(self, "of", [*whole, *single])
        offer(self, "models", [(name, name) for name in models])
        levels = [(level, level_name(level)) for level in LEVELS[:-1]]
        offer(self, "level", [("", _("anywhere")), *levels])

    def wanted(self, actor: Actor) -> tuple[Any, services.Wanted]:
        """The tenant, and what is asked for it."""
        given = self.cleaned_data
        queue = None if given["of"].startswith("tenant:") else queries.queue_for(actor, given["of"])
        tenant = tenant_for(actor, given["of"].removeprefix("tenant:")) if queue is None else queue.tenant
        until = given["until"]
        return tenant, services.Wanted(
            name=given["name"],
            starts_at=given["starts_at"].astimezone(UTC),
            ends_at=given["ends_at"].astimezone(UTC),
            replicas=given["replicas"],
            cards=given["cards"],
            models=given["models"],
            level=given["level"],
            queue=queue,
            every=given["every"],
            until=timezone.make_aware(datetime.combine(until, time.max)).astimezone(UTC) if until else None,
            lead_s=given["lead_min"] * 60,
            lends=given["lends"],
            give_back_s=int(given["give_back_min"] * 60),
        )


@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The form, and what it reserves. Operators."""
    actor = actor_of(request)
    if not may_reserve(actor):
        raise NotAllowed(_("capacity is reserved by operators"))
    hour = timezone.localtime(clock.now()).replace(minute=0, second=0, microsecond=0) + timedelta(hours=2)
    shown = {"starts_at": hour, "ends_at": hour + timedelta(hours=4), "every": "once"}
    form = ReservationForm(actor, request.POST if request.method == "POST" else None, initial=shown)
    if form.is_bound and form.is_valid() and (made := _make(actor, form)):
        messages.success(request, _("%(name)s is reserved.") % {"name": made.name})
        day = timezone.localtime(made.starts_at).date()
        return HttpResponseRedirect(f"{reverse('scheduling:calendar')}?week={day:%Y-%m-%d}")
    return render(request, "scheduling/reservation_new.html", {"form": form}, status=422 if form.errors else 200)


@require_POST
def cancel(request: HttpRequest, public_id: str) -> HttpResponse:
    actor = actor_of(request)
    row = calendar.reservation_for(actor, public_id)
    if services.cancel(actor, row):
        messages.success(request, _("%(name)s is no longer reserved.") % {"name": row.name})
    return HttpResponseRedirect(reverse("scheduling:calendar"))


def _make(actor: Actor, form: ReservationForm) -> Reservation | None:
    try:
        tenant, wanted = form.wanted(actor)
        return services.reserve(actor, tenant, wanted)
    except Conflict as refusal:
        form.add_error(None, refusal.message)
    except InvalidInput as refusal:
        for error in refusal.errors:
            field = _FIELD_OF.get(error.field, error.field)
            form.add_error(field if field in form.fields else None, error.message)
    return None
