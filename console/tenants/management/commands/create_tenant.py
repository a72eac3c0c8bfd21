"""`manage.py create_tenant SLUG NAME [--currency CNY] [--time-zone Asia/Shanghai]`, with a default project."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from console.common.actor import system
from console.common.errors import WeirError
from console.tenants import services


class Command(BaseCommand):
    help = "Create a tenant with a project named default."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("name")
        parser.add_argument("--currency", default="CNY")
        parser.add_argument("--time-zone", default="Asia/Shanghai")

    def handle(self, *args: Any, **options: Any) -> None:
        actor = system("command line")
        facts = {"currency": options["currency"], "time_zone": options["time_zone"]}
        try:
            with transaction.atomic():
                tenant = services.create_tenant(actor, options["slug"], options["name"], **facts)
                services.create_project(actor, tenant, "default", "Default")
        except WeirError as error:
            raise CommandError(error.message) from None
        self.stdout.write(f"created tenant {tenant.slug} ({tenant.public_id})")
