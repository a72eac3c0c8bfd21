"""Forms of people, projects and service accounts of a tenant."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from console.common.choices import offer
from console.tenants.models import Membership, Tenant
from console.tenants.scopes import SCOPE_LABELS, SERVICE_SCOPES

_INVITE_DAYS = [(1, _("a day")), (7, _("7 days")), (30, _("30 days"))]
_TOKEN_DAYS = [(7, _("7 days")), (30, _("30 days")), (90, _("90 days")), (366, _("a year"))]


class InviteForm(forms.Form):
    email = forms.EmailField(label=_("E-mail address"), max_length=254)
    role = forms.ChoiceField(label=_("Role"), choices=Membership.Role.choices, initial="member")
    days = forms.TypedChoiceField(label=_("Valid for"), choices=_INVITE_DAYS, initial=7, coerce=int)


class ServiceAccountForm(forms.Form):
    name = forms.CharField(
        label=_("Name"), max_length=100, help_text=_("The program that works by it, such as: nightly")
    )
    role = forms.ChoiceField(label=_("Role"), choices=[("member", _("Member")), ("viewer", _("Viewer"))])
    project = forms.ChoiceField(
        label=_("Project"), required=False, help_text=_("It works in this project only; empty: in the whole tenant")
    )

    def __init__(self, projects: list[tuple[str, str]], whole: bool, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        first = [("", _("The whole tenant"))] if whole else []
        offer(self, "project", [*first, *projects])


class ServiceTokenForm(forms.Form):
    account = forms.ChoiceField(label=_("Service account"))
    name = forms.CharField(label=_("Name"), max_length=100)
    scopes = forms.MultipleChoiceField(
        label=_("Allowed to"),
        choices=[(scope, SCOPE_LABELS[scope]) for scope in SERVICE_SCOPES],
        widget=forms.CheckboxSelectMultiple,
    )
    days = forms.TypedChoiceField(label=_("Valid for"), choices=_TOKEN_DAYS, initial=90, coerce=int)

    def __init__(self, accounts: list[tuple[str, str]], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self, "account", accounts)


class LimitsForm(forms.Form):
    """Cards as people count them; the database has basis points."""

    cards = forms.DecimalField(
        label=_("Cards at once"),
        max_digits=10,
        decimal_places=4,
        min_value=0,
        required=False,
        help_text=_("Empty: no limit; 0.5 is half a card"),
    )
    jobs = forms.IntegerField(
        label=_("Running jobs"), min_value=0, max_value=2**31 - 1, required=False, help_text=_("Empty: no limit")
    )

    def limits(self) -> dict[str, int | None]:
        cards = self.cleaned_data["cards"]
        share = None if cards is None else int(cards * 10_000)
        return {"limit_share_bp": share, "limit_running_jobs": self.cleaned_data["jobs"]}


class ProjectForm(forms.Form):
    slug = forms.SlugField(label=_("Short name"), max_length=64, help_text=_("Letters, digits, - and _; it stays"))
    name = forms.CharField(label=_("Name"), max_length=200)


class TenantForm(forms.Form):
    slug = forms.SlugField(label=_("Short name"), max_length=64, help_text=_("Letters, digits, - and _; it stays"))
    name = forms.CharField(label=_("Name"), max_length=200)
    currency = forms.CharField(label=_("Currency"), max_length=3, initial="CNY", help_text=_("ISO 4217, such as CNY"))
    time_zone = forms.CharField(
        label=_("Time zone"), max_length=64, initial="Asia/Shanghai", help_text=_("Decides billing days and months")
    )
    trust_group = forms.CharField(
        label=_("Trust group"),
        max_length=64,
        required=False,
        help_text=_("Tenants of one group may share a card; empty: trusts only itself"),
    )
    owner = forms.EmailField(label=_("First owner"), required=False, help_text=_("Is invited; the link is shown once"))


class PasswordForm(forms.Form):
    """Of a new person who accepts an invitation."""

    password = forms.CharField(
        label=_("Choose a password"), widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}), max_length=200
    )


def cards_of(owner: Tenant | Any) -> dict[str, Any]:
    """What LimitsForm shows at first."""
    share = owner.limit_share_bp
    return {"cards": None if share is None else f"{share / 10_000:g}", "jobs": owner.limit_running_jobs}
