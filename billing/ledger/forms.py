"""The form of a movement by hand. The service checks again; this shapes what a browser sends."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from billing.ledger.chart import MOVES
from billing.ledger.models import Posting
from billing.metering.queries import tenants_for
from console.common.actor import Actor
from console.common.choices import offer


class MoveForm(forms.Form):
    tenant = forms.ChoiceField(label=_("Tenant"))
    kind = forms.ChoiceField(label=_("What happened"))
    amount = forms.DecimalField(
        label=_("Amount"), max_digits=15, decimal_places=3, help_text=_("In the tenant's currency, more than nothing.")
    )
    reference = forms.CharField(
        label=_("Reference"),
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text=_("Names the fact, such as the bank's number. The same reference again books nothing twice."),
    )
    memo = forms.CharField(label=_("Note"), required=False, max_length=200)

    def __init__(self, actor: Actor, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        tenants = [(row.slug, f"{row.name} ({row.currency})") for row in tenants_for(actor)]
        offer(self, "tenant", tenants)
        kinds = [(kind, Posting.Kind(kind).label) for kind in MOVES]
        offer(self, "kind", kinds)
