"""`manage.py oidc_map PROVIDER GROUP ROLE`: who is in the group at the provider has the role in the installation.

Operator, finance and auditor are separate powers, so no page gives them: neither by hand nor by a group.
"""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from console.accounts import queries
from console.accounts.services.providers import map_group, unmap_group
from console.common.actor import PlatformRole, system
from console.common.errors import WeirError


class Command(BaseCommand):
    help = "Map a group of an OpenID provider to a role in the installation, or take the mapping away."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("provider", help="its id, such as idp_0123…")
        parser.add_argument("group")
        parser.add_argument("role", choices=[role.value for role in PlatformRole])
        parser.add_argument("--remove", action="store_true")

    def handle(self, *args: Any, provider: str, group: str, role: str, remove: bool, **options: Any) -> None:
        actor = system("command line")
        try:
            found = queries.provider_for(actor, provider)
            if remove:
                for mapping in found.mappings.select_related("provider").filter(group=group, role=role, tenant=None):
                    unmap_group(actor, mapping)
            else:
                map_group(actor, found, group, role, None)
        except WeirError as error:
            raise CommandError(error.message) from None
