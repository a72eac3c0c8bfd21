"""The form of a new API token."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from console.common.actor import Actor
from console.common.choices import offer
from console.tenants import queries
from console.tenants.scopes import SCOPE_LABELS

_DAYS = [(7, _("7 days")), (30, _("30 days")), (90, _("90 days")), (366, _("a year"))]


class TokenForm(forms.Form):
    name = forms.CharField(
        label=_("Name"), max_length=100, help_text=_("Where it will be used, such as: nightly training")
    )
    scopes = forms.MultipleChoiceField(
        label=_("Allowed to"), choices=list(SCOPE_LABELS.items()), widget=forms.CheckboxSelectMultiple
    )
    tenant = forms.ChoiceField(
        label=_("Tenant"), required=False, help_text=_("Narrow it to one tenant, or leave it at all of yours")
    )
    days = forms.ChoiceField(label=_("Valid for"), choices=_DAYS, initial=90)

    def __init__(self, actor: Actor, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        mine = queries.tenants_for(actor).filter(pk__in=actor.tenants)
        choices = [(tenant.slug, tenant.name) for tenant in mine]
        offer(self, "tenant", [("", _("All of mine")), *choices])
