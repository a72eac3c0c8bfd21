"""Forms of the sign-in policy, of failed sign-ins, and of OpenID providers."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from console.accounts import policy
from console.accounts.models import Lock, OidcProvider
from console.accounts.queries import owned_by
from console.common.actor import Actor
from console.common.choices import offer
from console.tenants.models import Membership
from console.tenants.queries import tenants_for


class LockFilter(forms.Form):
    kind = forms.ChoiceField(required=False, choices=[("", ""), *Lock.Kind.choices])
    subject = forms.CharField(required=False, max_length=200)
    state = forms.ChoiceField(required=False, choices=[("", ""), ("locked", "locked")])


class PolicyForm(forms.Form):
    role = forms.ChoiceField(choices=[(role, role) for role in policy.ROLES])
    required = forms.ChoiceField(choices=[("yes", "yes"), ("no", "no")])


class ProviderForm(forms.Form):
    """Of a new provider, or of one that is there, whose secret may stay as it is."""

    name = forms.CharField(label=_("Name"), max_length=40, help_text=_("As it stands on the sign-in page"))
    issuer = forms.CharField(label=_("Issuer"), max_length=300, help_text=_("Such as https://login.example.com"))
    client_id = forms.CharField(label=_("Client id"), max_length=191)
    secret = forms.CharField(
        label=_("Client secret"),
        max_length=500,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=_("Kept sealed and never shown again"),
    )
    scopes = forms.CharField(
        label=_("Scopes"),
        max_length=200,
        initial="openid email profile",
        help_text=_("Some providers tell groups only for the scope groups"),
    )
    groups_claim = forms.CharField(label=_("Claim with the groups"), max_length=80, initial="groups")
    domains = forms.CharField(
        label=_("E-mail domains"),
        required=False,
        help_text=_("For which it may speak, separated by spaces. Without one nobody new comes in."),
    )
    brings_second_factor = forms.BooleanField(
        label=_("It asks for a second factor itself, which counts here"), required=False
    )
    enabled = forms.BooleanField(label=_("In use"), required=False, initial=True)
    tenant = forms.ChoiceField(label=_("Tenant"), required=False)

    def __init__(self, actor: Actor, *args: Any, provider: OidcProvider | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if provider is not None:
            self.fields["secret"].required = False
            self.fields["secret"].help_text = _("Leave it empty to keep the one that is there")
            del self.fields["tenant"]
        else:
            owned = tenants_for(actor) if actor.is_operator else tenants_for(actor).filter(pk__in=owned_by(actor))
            every = [("", _("The whole installation"))] if actor.is_operator else []
            offer(self, "tenant", [*every, *((one.slug, one.name) for one in owned)])
        if not actor.is_operator:
            for name in ("domains", "brings_second_factor"):
                self.fields[name].disabled = True

    def facts(self) -> dict[str, Any]:
        """What the services take, but the secret and the tenant."""
        given = {name: value for name, value in self.cleaned_data.items() if name not in {"secret", "tenant"}}
        if isinstance(given["domains"], str):
            given["domains"] = given["domains"].lower().split()
        return {name: value for name, value in given.items() if not self.fields[name].disabled}


class GroupForm(forms.Form):
    group = forms.CharField(label=_("Group at the provider"), max_length=200)
    tenant = forms.ChoiceField(label=_("Tenant"))
    role = forms.ChoiceField(label=_("Role"), choices=Membership.Role.choices)

    def __init__(self, actor: Actor, provider: OidcProvider, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        tenants = tenants_for(actor)
        if provider.tenant_id is not None:
            tenants = tenants.filter(pk=provider.tenant_id)
        offer(self, "tenant", [(one.slug, one.name) for one in tenants])
