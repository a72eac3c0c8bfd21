"""`manage.py platform_role EMAIL operator|finance|auditor|none`: gives or takes a platform role.

Here only, by who administers the server: no role may hand out another's power (docs/decisions/0022-roles.md).
"""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from console.common.actor import PlatformRole, system
from console.common.errors import WeirError
from console.tenants.models import User
from console.tenants.services import set_platform_role

_NONE = "none"


class Command(BaseCommand):
    help = "Give an account a platform role, or take it away."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email")
        parser.add_argument("role", choices=[*(role.value for role in PlatformRole), _NONE])

    def handle(self, *args: Any, email: str, role: str, **options: Any) -> None:
        user = User.objects.filter(email=email.strip().lower()).first()
        if user is None:
            raise CommandError(f"no account has the e-mail address {email}")
        try:
            set_platform_role(system("command line"), user, "" if role == _NONE else role)
        except WeirError as error:
            raise CommandError(error.message) from None
        self.stdout.write(f"{user.email}: {role}")
