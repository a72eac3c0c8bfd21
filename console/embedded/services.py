"""The first operator: without one nobody could let anybody in."""

from django.db import transaction

from console.audit import services as audit
from console.common.actor import system
from console.tenants.models import User

FIRST_OPERATOR = "operator@localhost.localdomain"


def first_operator() -> User:
    """Who signs in by the printed link: the oldest active operator, made when there is none. Run twice: same."""
    found = User.objects.filter(platform_role=User.Role.OPERATOR, is_active=True).order_by("pk").first()
    if found:
        return found
    with transaction.atomic():
        user, made = User.objects.get_or_create(
            email=FIRST_OPERATOR,
            defaults={"username": "operator", "platform_role": User.Role.OPERATOR, "first_name": "Operator"},
        )
        if made:
            # no password: the one-time link is the only way in until the operator sets one
            user.set_unusable_password()
            user.save(update_fields=["password"])
            audit.record(system("setup"), "user.create", user, after={"email": user.email, "role": user.platform_role})
    return user
