"""The form of the rules of defragmentation. People write minutes and hours; the service takes seconds."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from console.common.actor import Actor
from console.common.errors import InvalidInput
from console.common.signed_in import actor_of
from pool.scheduling.defrag import queries
from pool.scheduling.defrag.queries import RuleSet
from pool.scheduling.defrag.windows import DAYS
from pool.scheduling.models import DefragRules
from pool.scheduling.services.defrag_rules import RANGES, check_operator, set_defrag_rules

# field of the form: field of the rules, seconds in one
SPANS = {
    "period_min": ("period_s", 60),
    "lost_h": ("lost_s", 3600),
    "rest_min": ("rest_s", 60),
    "job_rest_min": ("job_rest_s", 60),
}
PLAIN = ("busiest_percent", "moves", "per_queue", "parallel")


def _number(label: Any, low: int, high: int, help_text: Any = "") -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=low, max_value=high, help_text=help_text)


class RulesForm(forms.Form):
    mode = forms.ChoiceField(
        label=gettext_lazy("Mode"),
        choices=DefragRules.Mode.choices,
        help_text=gettext_lazy(
            "Preview shows plans only. Approve waits for an operator. Automatic carries them out inside the windows."
        ),
    )
    period_min = _number(gettext_lazy("A plan every"), 0, 1440, gettext_lazy("Minutes, from 5; 0: on demand only."))
    windows = forms.CharField(
        label=gettext_lazy("Windows"),
        required=False,
        max_length=4_000,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false", "placeholder": "mon,tue,wed 01:00-05:00"}),
        help_text=gettext_lazy("Of automatic plans, one a line. Empty: at any time."),
    )
    time_zone = forms.CharField(label=gettext_lazy("Time zone of the windows"), max_length=64)
    busiest_percent = _number(
        gettext_lazy("Only while at most so much is held (%)"), 0, 100, gettext_lazy("For automatic plans.")
    )
    moves = _number(gettext_lazy("Moves of a plan"), *RANGES["moves"])
    lost_h = _number(gettext_lazy("GPU-hours that a plan may lose"), 1, 10**6)
    per_queue = _number(gettext_lazy("Moves of one queue in a plan"), *RANGES["per_queue"])
    parallel = _number(gettext_lazy("Moves at once"), *RANGES["parallel"])
    rest_min = _number(
        gettext_lazy("Minutes between moves"), 0, 1440, gettext_lazy("No more than at once begin within this time.")
    )
    job_rest_min = _number(
        gettext_lazy("Minutes that a job is left alone"), 0, 43_200, gettext_lazy("After it moved or was preempted.")
    )

    def clean_windows(self) -> list[dict[str, Any]]:
        lines = [line.strip() for line in self.cleaned_data["windows"].splitlines() if line.strip()]
        return [_window(line) for line in lines]


@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest) -> HttpResponse:
    """Operators."""
    actor = actor_of(request)
    check_operator(actor)
    form = RulesForm(request.POST) if request.method == "POST" else RulesForm(initial=_initial(queries.rules()))
    if request.method == "POST" and form.is_valid() and _saved(actor, form):
        messages.success(request, _("The rules were saved."))
        return HttpResponseRedirect(reverse("scheduling:defrag_list"))
    return render(request, "scheduling/defrag_rules.html", {"form": form})


def _saved(actor: Actor, form: RulesForm) -> bool:
    """False: what was typed is wrong, and the form says how."""
    data = form.cleaned_data
    changes: dict[str, Any] = {name: data[name] for name in ("mode", "windows", "time_zone", *PLAIN)}
    changes |= {field: data[name] * seconds for name, (field, seconds) in SPANS.items()}
    try:
        set_defrag_rules(actor, changes)
    except InvalidInput as error:
        names = {field: name for name, (field, _seconds) in SPANS.items()}
        for each in error.errors:
            field = each.field.partition("[")[0]
            form.add_error(names.get(field, field), each.message)
        return False
    return True


def _initial(rules: RuleSet) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(rules, name) for name in ("mode", "time_zone", *PLAIN)}
    values |= {name: getattr(rules, field) // seconds for name, (field, seconds) in SPANS.items()}
    return values | {"windows": "\n".join(show_window(window) for window in rules.windows)}


def show_window(window: dict[str, Any]) -> str:
    """As it is typed: "mon,tue 01:00-05:00"."""
    return f"{','.join(DAYS[day] for day in window['days'])} {window['from']}-{window['to']}"


def _window(line: str) -> dict[str, Any]:
    days, _space, span = line.partition(" ")
    begin, _dash, end = span.strip().partition("-")
    named = [day.strip().lower() for day in days.split(",")]
    if not all(day in DAYS for day in named):
        text = _("%(line)s: must be days and times, such as mon,tue 01:00-05:00")
        raise forms.ValidationError(text % {"line": line[:60]})
    return {"days": sorted({DAYS.index(day) for day in named}), "from": begin.strip(), "to": end.strip()}
