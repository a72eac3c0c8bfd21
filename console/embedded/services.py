"""The first operator: without one nobody could let anybody in."""

from console.common.actor import system
from console.tenants.models import User
from console.tenants.services import create_user

# a name that no mail server takes: this address identifies, it receives nothing
FIRST_OPERATOR = "operator@localhost.localdomain"


def first_operator() -> User:
    """Who signs in by the printed link: the oldest active operator, made when there is none. Run twice: same.

    It has no password; the one-time link is its only way in until it sets one.
    """
    operators = User.objects.filter(platform_role=User.Role.OPERATOR, is_active=True)
    return operators.order_by("pk").first() or create_user(
        system("setup"), FIRST_OPERATOR, platform_role=User.Role.OPERATOR
    )
