"""What a new installation needs before anybody can do anything: an operator, a site, a way in for its first nodes."""

from datetime import timedelta

from django.db import transaction

from console.common.actor import system
from console.tenants.models import User
from console.tenants.services import create_user
from pool.inventory.importing import FleetDraft, SiteDraft
from pool.inventory.models import Site
from pool.inventory.services import import_fleet
from pool.nodes.models import Agent
from pool.nodes.services import create_join_token

SETUP = system("setup")
# a name that no mail server takes: this address identifies, it receives nothing
FIRST_OPERATOR = "operator@localhost.localdomain"
TOKEN_LIFE = timedelta(hours=1)


def first_operator() -> User:
    """Who signs in by the printed link: the oldest active operator, made when there is none. Run twice: same.

    It has no password; the one-time link is its only way in until it sets one.
    """
    operators = User.objects.filter(platform_role=User.Role.OPERATOR, is_active=True)
    return operators.order_by("pk").first() or create_user(SETUP, FIRST_OPERATOR, platform_role=User.Role.OPERATOR)


def join_token(site: str, node: str) -> str:
    """A token that lets the node named `node` into `site` once; the site is made if need be."""
    with transaction.atomic():
        row = Site.objects.filter(name=site).first()
        if row is None:
            import_fleet(SETUP, FleetDraft(sites=(SiteDraft(name=site),)))
            row = Site.objects.get(name=site)
        return create_join_token(SETUP, row, valid=TOKEN_LIFE, name_prefix=node)[1]


def has_joined(node: str) -> bool:
    """Whether this control plane knows the agent of the node."""
    return Agent.objects.filter(node__name=node).exists()
