"""`manage.py sign_in_link EMAIL`: prints the path of a link that signs this account in once."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from console.common.actor import system
from console.common.errors import WeirError
from console.tenants.models import User
from console.tenants.services import create_sign_in_link


class Command(BaseCommand):
    help = "Print a one-time sign-in link for an account."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--minutes", type=int, default=15)

    def handle(self, *args: Any, email: str, minutes: int, **options: Any) -> None:
        user = User.objects.filter(email=email.strip().lower(), is_active=True).first()
        if user is None:
            raise CommandError(f"no active account has the e-mail address {email}")
        try:
            self.stdout.write(create_sign_in_link(user, minutes, system("command line")))
        except WeirError as error:
            raise CommandError(error.message) from None
