"""The form of the rules by which the pool is shared, and of what a card of each model counts. Operators."""

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from console.common.actor import Actor
from console.common.errors import InvalidInput, NotAllowed
from console.common.signed_in import actor_of
from pool.engine.sharing.amounts import HEAVIEST, PLAIN
from pool.inventory.models import DeviceModel
from pool.scheduling import services
from pool.scheduling.models import SharingRules
from pool.scheduling.sharing import queries as sharing

# field of the form: field of the service, seconds in one of the form
TIMES = {
    "cooldown_min": ("cooldown_s", 60),
    "history_window_days": ("history_window_s", 86_400),
    "history_half_life_days": ("history_half_life_s", 86_400),
    "starve_after_min": ("starve_after_s", 60),
    "assumed_runtime_h": ("assumed_runtime_s", 3_600),
}
PLAIN_FIELDS = ("reclaim_to", "within_quota", "history_strength", "starve_cards", "starve_most")
_FIELD_OF = {field: name for name, (field, _seconds) in TIMES.items()}


def _time(label: Any, help_text: Any, most: int, required: bool = True) -> forms.DecimalField:
    return forms.DecimalField(
        label=label, required=required, min_value=0, max_value=most, decimal_places=2, help_text=help_text
    )


class RulesForm(forms.Form):
    reclaim_to = forms.ChoiceField(
        label=gettext_lazy("A queue takes back from others"),
        choices=[
            (SharingRules.ReclaimTo.FAIR_SHARE, gettext_lazy("up to its fair share")),
            (SharingRules.ReclaimTo.QUOTA, gettext_lazy("only up to its quota")),
        ],
        help_text=gettext_lazy("By stopping work of queues that hold more than they are entitled to."),
    )
    within_quota = forms.BooleanField(
        label=gettext_lazy("Work that cannot be preempted stays within the quota of its queue"), required=False
    )
    cooldown_min = _time(
        gettext_lazy("Cool-down in minutes"),
        gettext_lazy("So long a job that was preempted is left alone."),
        1_440,
    )
    history_strength = forms.IntegerField(
        label=gettext_lazy("Strength of the past"),
        min_value=0,
        max_value=10,
        help_text=gettext_lazy(
            "0: the past does not count. Above: who used much lately gets less of what is beyond the quotas."
        ),
    )
    history_window_days = _time(gettext_lazy("Days to look back"), gettext_lazy("Use that is older is forgotten."), 400)
    history_half_life_days = _time(
        gettext_lazy("Half-life in days"),
        gettext_lazy("Use of that age counts half. Empty: all that is looked back on counts alike."),
        400,
        required=False,
    )
    starve_after_min = _time(
        gettext_lazy("Minutes of waiting"),
        gettext_lazy("A job that waits so long gets a reserved start. Empty: none does."),
        43_200,
        required=False,
    )
    starve_cards = forms.IntegerField(
        label=gettext_lazy("From so many cards on"),
        min_value=1,
        max_value=1_000_000,
        help_text=gettext_lazy("Smaller jobs find room by themselves."),
    )
    starve_most = forms.IntegerField(
        label=gettext_lazy("Starts at once"),
        min_value=1,
        max_value=64,
        help_text=gettext_lazy("1 lets most be backfilled, more let fewer large jobs be passed by."),
    )
    assumed_runtime_h = _time(
        gettext_lazy("Hours that endless work is taken to run"),
        gettext_lazy(
            "Cards then gather for a large job also behind work without a time limit; its start is an estimate. Empty: "
            "only what has a limit is waited for."
        ),
        9_600,
        required=False,
    )

    def __init__(self, models: list[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.models = models
        for at, model in enumerate(models):
            self.fields[f"weight_{at}"] = forms.DecimalField(
                label=model,
                min_value=Decimal("0.01"),
                max_value=Decimal(HEAVIEST) / PLAIN,
                decimal_places=2,
            )

    @property
    def weights(self) -> list[Any]:
        return [self[f"weight_{at}"] for at in range(len(self.models))]

    def changes(self) -> dict[str, Any]:
        """Fields of the service's RuleSet."""
        found = {name: self.cleaned_data[name] for name in PLAIN_FIELDS}
        for name, (field, seconds) in TIMES.items():
            value = self.cleaned_data[name]
            found[field] = None if value is None else int(value * seconds)
        return found


@require_http_methods(["GET", "POST"])
def rules(request: HttpRequest) -> HttpResponse:
    """All of it at once, or nothing."""
    actor = actor_of(request)
    if not actor.is_operator:
        raise NotAllowed(_("how the pool is shared is set by operators"))
    models = list(DeviceModel.objects.order_by("name").values_list("name", flat=True))
    form = RulesForm(models, request.POST if request.method == "POST" else None, initial=_initial(models))
    if form.is_bound and form.is_valid() and _save(actor, form):
        messages.success(request, _("The pool is shared by these rules from now on."))
        return HttpResponseRedirect(reverse("scheduling:shares"))
    return render(request, "scheduling/rules.html", {"form": form}, status=422 if form.errors else 200)


def _initial(models: list[str]) -> dict[str, Any]:
    row, weights = sharing.rules(), sharing.weights()
    shown: dict[str, Any] = {name: getattr(row, name) for name in PLAIN_FIELDS}
    for name, (field, seconds) in TIMES.items():
        value = getattr(row, field)
        shown[name] = None if value is None else f"{(Decimal(value) / seconds).normalize():f}"
    for at, model in enumerate(models):
        shown[f"weight_{at}"] = f"{Decimal(weights.get(model, PLAIN)) / PLAIN:f}"
    return shown


def _save(actor: Actor, form: RulesForm) -> bool:
    try:
        with transaction.atomic():
            services.set_rules(actor, form.changes())
            for at, model in enumerate(form.models):
                services.set_weight(actor, model, int(form.cleaned_data[f"weight_{at}"] * PLAIN))
    except InvalidInput as refusal:
        for error in refusal.errors:
            field = _FIELD_OF.get(error.field, error.field)
            form.add_error(field if field in form.fields else None, error.message)
        return False
    return True
