"""The submit form: one role, every field of a request. Several roles are submitted as JSON."""

import shlex
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from console.common.pairs import pairs
from pool.scheduling.models import Job
from pool.scheduling.pages import units
from pool.scheduling.pages.form_advanced import AdvancedFields

WHOLE, SHARE, MIG, NONE = "whole", "share", "mig", "none"
GPU_MODES = [
    (WHOLE, _("Whole cards")),
    (SHARE, _("Share of a card")),
    (MIG, _("MIG slice")),
    (NONE, _("CPU only")),
]
# "mig" and "exclusive" are what the mode above says already
ISOLATIONS = [("auto", _("Automatic")), ("vgpu", _("vGPU (soft share)")), ("mig", _("MIG (hardware)"))]
UNIT_SECONDS = {"min": 60, "h": 3600, "d": 86_400}
UNITS = [
    ("min", pgettext_lazy("unit", "minutes")),
    ("h", pgettext_lazy("unit", "hours")),
    ("d", pgettext_lazy("unit", "days")),
]


def _text(label: Any, help_text: Any = "", required: bool = False, longest: int = 200, **attrs: str) -> forms.CharField:
    widget = forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", **attrs})
    return forms.CharField(label=label, help_text=help_text, required=required, max_length=longest, widget=widget)


def _lines(label: Any, help_text: Any = "", required: bool = False, rows: int = 2, **attrs: str) -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": rows, "spellcheck": "false", **attrs})
    return forms.CharField(label=label, help_text=help_text, required=required, max_length=65_536, widget=widget)


def _number(label: Any, low: int, high: int, help_text: Any = "", usual: str = "") -> forms.IntegerField:
    """`usual`: the API's default, shown while the field is empty."""
    widget = forms.NumberInput(attrs={"placeholder": usual})
    return forms.IntegerField(
        label=label, help_text=help_text, required=False, min_value=low, max_value=high, widget=widget
    )


class JobForm(AdvancedFields):
    """`to_spec` gives the request; `take` puts the errors of the specification beside their fields."""

    use_required_attribute = False
    name = _text(_("Name"), required=True, longest=120)
    tenant = forms.ChoiceField(label=_("Tenant"), required=False)
    project = forms.ChoiceField(label=_("Project"), required=False)
    queue = forms.ChoiceField(label=_("Queue"), required=False)
    kind = forms.ChoiceField(label=_("Kind"), required=False, choices=Job.Kind.choices)
    command = _lines(
        _("Command"),
        _("Words as in a shell, without a shell: quote what belongs together. For pipes write bash -c '…'."),
        required=True,
        placeholder="python train.py --epochs 3",
    )
    gpu_mode = forms.ChoiceField(
        label=_("GPU"), required=False, choices=GPU_MODES, widget=forms.RadioSelect, initial=WHOLE
    )
    gpus = _number(_("Devices per replica"), 1, 64, usual="1")
    gpu_share = _text(_("Share of each"), _("1/16, 1/8, 25 %, 0.5 …"), list="shares")
    mig_profile = _text(_("MIG profile"), list="mig-profiles", placeholder="1g.10gb")
    gpu_memory = _text(
        _("GPU memory per device"),
        _("4096 is MiB; 16 GiB works too. One for all, or one a device with commas. Empty: by share."),
    )
    isolation = forms.ChoiceField(label=_("Isolation"), required=False, choices=ISOLATIONS)
    models = forms.MultipleChoiceField(
        label=_("Models"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("None chosen: any model."),
    )
    bandwidth_sensitive = forms.BooleanField(
        label=_("Sensitive to memory bandwidth"),
        required=False,
        help_text=_("Automatic isolation then prefers MIG, where neighbours cannot slow it down."),
    )
    cpu = forms.DecimalField(
        label=_("CPU cores per replica"), required=False, min_value=0, max_value=10_000, decimal_places=3
    )
    memory = _text(_("Memory per replica"), _("Such as 16 GiB."))
    replicas = _number(_("Replicas"), 1, 4096, usual="1")
    min_member = _number(_("Start with at least"), 1, 4096, _("Replicas. Empty: all of them, or none starts."))
    priority = _number(_("Priority"), -1000, 1000, _("Higher waits less."), usual="0")
    preemptible = forms.BooleanField(label=_("May be preempted"), required=False)
    max_duration = _number(_("Stop after"), 1, 527_040, _("Empty: no limit."))
    max_duration_unit = forms.ChoiceField(label=_("Unit"), required=False, choices=UNITS, initial="h")
    max_retries = _number(_("Retries"), 0, 100, _("After a failure. A lost node does not count."), usual="0")
    environment = _lines(_("Environment"), _("One NAME=value a line."))
    labels = _lines(_("Labels"), _("One name=value a line."))

    def __init__(self, *args: Any, places: dict[str, list[tuple[str, str]]], models: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("tenant", "project", "queue"):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = places[name]
        chosen = self.fields["models"]
        assert isinstance(chosen, forms.MultipleChoiceField)
        chosen.choices = [(name, name) for name in models]

    def clean_command(self) -> list[str]:
        try:
            return shlex.split(self.cleaned_data["command"])
        except ValueError:
            raise ValidationError(_("A quotation mark is not closed.")) from None

    def clean_gpu_share(self) -> str:
        text = self.cleaned_data["gpu_share"]
        return units.share(text) if text and self._mode() == SHARE else ""

    def clean_gpu_memory(self) -> int | list[int] | None:
        return units.sizes(self.cleaned_data["gpu_memory"])

    def clean_memory(self) -> int | None:
        text = self.cleaned_data["memory"]
        return units.mebibytes(text) if text else None

    def clean_environment(self) -> dict[str, str]:
        return pairs(self.cleaned_data["environment"])

    def clean_labels(self) -> dict[str, str]:
        return pairs(self.cleaned_data["labels"])

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if self._mode() == SHARE and not data.get("gpu_share") and "gpu_share" not in self.errors:
            self.add_error("gpu_share", _("Write a share of one card, such as 1/8, 0.25 or 25 %."))
        if self._mode() == MIG and not data.get("mig_profile"):
            self.add_error("mig_profile", _("Choose a MIG profile."))
        return data

    def _mode(self) -> str:
        return self.cleaned_data.get("gpu_mode") or WHOLE
