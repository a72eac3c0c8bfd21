"""`manage.py create_user EMAIL [--role operator] [--member TENANT:ROLE]`: an account without a password.

Prints a one-time sign-in link. Platform roles can be given here only: no role may hand out another's power.
"""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from console.common.actor import PlatformRole, system
from console.common.errors import WeirError
from console.tenants import queries, services


class Command(BaseCommand):
    help = "Create an account and print a one-time sign-in link for it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--role", choices=[role.value for role in PlatformRole], default="")
        parser.add_argument("--member", action="append", default=[], metavar="TENANT:ROLE")
        parser.add_argument("--minutes", type=int, default=60, help="how long the link works")

    def handle(self, *args: Any, **options: Any) -> None:
        actor = system("command line")
        try:
            with transaction.atomic():
                user = services.create_user(actor, options["email"], platform_role=options["role"])
                for text in options["member"]:
                    slug, _, role = text.partition(":")
                    services.add_member(actor, queries.tenant_for(actor, slug), user, role or "member")
                link = services.create_sign_in_link(user, options["minutes"], actor)
        except WeirError as error:
            raise CommandError(error.message) from None
        self.stdout.write(link)
