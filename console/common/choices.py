"""What a choice field of a form offers, where that depends on who asks."""

from collections.abc import Iterable
from typing import Any

from django import forms


def offer(form: forms.BaseForm, name: str, choices: Iterable[tuple[Any, Any]]) -> None:
    """Raises TypeError for a field that is no choice."""
    field = form.fields[name]
    if not isinstance(field, forms.ChoiceField):
        raise TypeError(f"{name} is a {type(field).__name__}, which offers nothing")
    field.choices = list(choices)
