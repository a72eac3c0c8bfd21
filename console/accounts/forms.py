"""Filters of the failed sign-ins, and the form of the sign-in policy."""

from django import forms

from console.accounts import policy
from console.accounts.models import Lock


class LockFilter(forms.Form):
    kind = forms.ChoiceField(required=False, choices=[("", ""), *Lock.Kind.choices])
    subject = forms.CharField(required=False, max_length=200)
    state = forms.ChoiceField(required=False, choices=[("", ""), ("locked", "locked")])


class PolicyForm(forms.Form):
    role = forms.ChoiceField(choices=[(role, role) for role in policy.ROLES])
    required = forms.ChoiceField(choices=[("yes", "yes"), ("no", "no")])
