"""`{% load billing %}`: the entry price in words."""

from django import template

from billing.catalog import entry

register = template.Library()


@register.simple_tag
def entry_price() -> str:
    """`{% entry_price %}`: the sentence with price, unit and share; to stand on every page that names the price."""
    return entry.sentence()
