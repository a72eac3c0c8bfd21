"""`manage.py reset_second_factor EMAIL`: for a person who has lost their phone and their recovery codes."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from console.accounts.services import forget_factors
from console.common.actor import system
from console.tenants.models import User


class Command(BaseCommand):
    help = "Take away an account's second factors and end its sessions."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email")

    def handle(self, *args: Any, email: str, **options: Any) -> None:
        user = User.objects.filter(email=email.strip().lower()).first()
        if user is None:
            raise CommandError(f"no account has the e-mail address {email}")
        forget_factors(system("command line"), user)
        self.stdout.write(f"{user.email} has no second factor any more, and no session.")
