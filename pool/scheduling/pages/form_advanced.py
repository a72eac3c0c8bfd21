"""The advanced part of the submit form: which cards, where, how elastic, and when."""

from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from pool.engine.levels import LEVELS
from pool.scheduling.pages import label_lines
from pool.scheduling.pages.surroundings import LEVELS as NAMES
from pool.scheduling.spec.parse import MAX_SAVING_S, SIGNALS

_MOMENT = "%Y-%m-%dT%H:%M"
_LEVELS = [("", _("none")), *((level, NAMES[level]) for level in LEVELS)]


def _area(label: Any, help_text: Any, placeholder: str) -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": 2, "spellcheck": "false", "placeholder": placeholder})
    return forms.CharField(label=label, help_text=help_text, required=False, max_length=8_192, widget=widget)


def _moment(label: Any, help_text: Any) -> forms.DateTimeField:
    widget = forms.DateTimeInput(format=_MOMENT, attrs={"type": "datetime-local"})
    return forms.DateTimeField(
        label=label, help_text=help_text, required=False, widget=widget, input_formats=[_MOMENT, "%Y-%m-%dT%H:%M:%S"]
    )


def _count(label: Any, high: int, help_text: Any) -> forms.IntegerField:
    return forms.IntegerField(label=label, help_text=help_text, required=False, min_value=1, max_value=high)


class AdvancedFields(forms.Form):
    """What most jobs leave alone. Names are those of the request, except where a unit is chosen."""

    gpu_cores = _count(_("Compute of each (percent)"), 100, _("Empty: the share says compute and memory alike."))
    vendors = forms.CharField(
        label=_("Vendors"), required=False, max_length=200, help_text=_("With commas. Empty: any vendor.")
    )
    preference = forms.CharField(
        label=_("Models by rank"),
        required=False,
        max_length=400,
        help_text=_("Models or vendors, best first, with commas. The first that holds the whole job is taken."),
    )
    gpu_selector = _area(_("Labels of cards"), _("One condition a line; all must hold."), "zone=a|b\ngen>3\n!shared")
    required_topology_level = forms.ChoiceField(label=_("Must stand in one"), required=False, choices=_LEVELS)
    preferred_topology_level = forms.ChoiceField(label=_("Should stand in one"), required=False, choices=_LEVELS)
    affinity = _area(
        _("Near jobs with labels"),
        _("One a line. A number in front makes it a preference of that weight: 50 * app=data at rack."),
        "app=data at rack",
    )
    anti_affinity = _area(
        _("Away from jobs with labels"), _("What must keep away is kept away later, too."), "app=web at node"
    )
    max_replicas = _count(_("Up to"), 4096, _("Replicas, where there is room."))
    preempt_min_runtime = _count(_("Not preempted within"), 527_040, _("Minutes from its start."))
    checkpoint_signal = forms.ChoiceField(
        label=_("Asked to save by"),
        required=False,
        choices=[("", _("nothing")), *((name, f"SIG{name}") for name in SIGNALS)],
        help_text=_("A signal before it is preempted or moved. What does not handle it ends by it."),
    )
    checkpoint_grace = _count(_("Time to save"), MAX_SAVING_S, _("Seconds, at most; 60 if empty."))
    start_no_earlier_than = _moment(_("Start no earlier than"), _("Waits until then."))
    deadline = _moment(_("Deadline"), _("Ends then, waiting or running."))

    def clean_vendors(self) -> list[str]:
        return _names(self.cleaned_data["vendors"])

    def clean_preference(self) -> list[str]:
        return _names(self.cleaned_data["preference"])

    def clean_gpu_selector(self) -> list[dict[str, Any]]:
        return label_lines.conditions(self.cleaned_data["gpu_selector"])

    def clean_affinity(self) -> list[dict[str, Any]]:
        return label_lines.neighbours(self.cleaned_data["affinity"])

    def clean_anti_affinity(self) -> list[dict[str, Any]]:
        return label_lines.neighbours(self.cleaned_data["anti_affinity"])

    def advanced(self) -> bool:
        """Whether any of it is filled in, so that the page shows it."""
        return any(self[name].value() for name in AdvancedFields.base_fields)


ADVANCED = tuple(AdvancedFields.base_fields)


def to_spec(data: dict[str, Any], device: bool) -> dict[str, Any]:
    """The request's fields of cleaned data; `device`: whether it asks for any."""
    minutes = data.get("preempt_min_runtime")
    signal, grace = data.get("checkpoint_signal"), data.get("checkpoint_grace")
    of_cards = {name: data.get(name) for name in ("vendors", "preference", "gpu_selector")} if device else {}
    return {
        **of_cards,
        **{name: data.get(name) for name in ("required_topology_level", "preferred_topology_level")},
        **{name: data.get(name) for name in ("affinity", "anti_affinity", "max_replicas")},
        "preempt_min_runtime": minutes * 60 if minutes else None,
        "checkpoint": {"signal": signal, "grace_s": grace or 60} if signal else None,
        **{name: at.isoformat() if (at := data.get(name)) else None for name in ("start_no_earlier_than", "deadline")},
    }


def initial_of(spec: dict[str, Any], role: dict[str, Any]) -> dict[str, Any]:
    """The fields' values for a stored specification."""
    seconds = spec.get("preempt_min_runtime")
    return {
        "gpu_cores": role.get("gpu_cores_percent"),
        "vendors": ", ".join(role.get("vendors", ())),
        "preference": ", ".join(role.get("preference", ())),
        "gpu_selector": label_lines.show_conditions(role.get("gpu_selector", ())),
        "required_topology_level": spec.get("required_topology_level", ""),
        "preferred_topology_level": spec.get("preferred_topology_level", ""),
        "affinity": label_lines.show_neighbours(spec.get("affinity", ())),
        "anti_affinity": label_lines.show_neighbours(spec.get("anti_affinity", ())),
        "max_replicas": role.get("max_replicas"),
        "preempt_min_runtime": -(-seconds // 60) if seconds else None,
        "checkpoint_signal": (spec.get("checkpoint") or {}).get("signal", ""),
        "checkpoint_grace": (spec.get("checkpoint") or {}).get("grace_s"),
        "start_no_earlier_than": _local(spec.get("start_no_earlier_than")),
        "deadline": _local(spec.get("deadline")),
    }


def _local(text: str | None) -> datetime | None:
    return timezone.localtime(datetime.fromisoformat(text)) if text else None


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.replace("，", ",").split(",") if name.strip()]
    if len(set(names)) != len(names):
        raise ValidationError(_("A name is written twice."))
    return names
