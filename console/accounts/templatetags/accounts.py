"""What the sign-in page needs beyond allauth's own context."""

from django import template
from django.db.models import QuerySet

from console.accounts import queries
from console.accounts.models import OidcProvider

register = template.Library()


@register.simple_tag
def sign_in_providers() -> QuerySet[OidcProvider]:
    return queries.sign_in_providers()
