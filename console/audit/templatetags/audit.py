"""Helpers of the audit pages."""

from django import template

register = template.Library()


@register.filter
def named(names: dict[int, str], key: int | None) -> str:
    return names.get(key, "–") if key is not None else "–"
