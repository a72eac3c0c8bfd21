"""The form that sets a price. The service checks again; this shapes what a browser sends."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from billing.catalog.models import PRICE_DIGITS, PRICE_PLACES, PRODUCTS


class PriceForm(forms.Form):
    model_name = forms.CharField(
        label=_("Model"), max_length=64, widget=forms.TextInput(attrs={"list": "models", "autocomplete": "off"})
    )
    isolation = forms.ChoiceField(label=_("Isolation"), choices=PRODUCTS)
    per_card_hour = forms.DecimalField(
        label=_("Price per card-hour"),
        required=False,
        min_value=0,
        max_digits=PRICE_DIGITS,
        decimal_places=PRICE_PLACES,
        help_text=_("Before tax. Leave empty to stop selling the product from then on."),
    )
    valid_from = forms.DateTimeField(
        label=_("Valid from"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"],
        help_text=_("In your time zone. Leave empty for now. The past keeps its price."),
    )
    note = forms.CharField(label=_("Note"), required=False, max_length=200)
    reason = forms.CharField(
        label=_("Reason for a change back in time"),
        required=False,
        max_length=300,
        help_text=_("Only to change a price that held already: a second finance officer must approve it."),
    )

    def facts(self) -> dict[str, Any]:
        """Arguments of `services.set_price`."""
        return {name: self.cleaned_data[name] for name in self.fields if name != "reason"}
