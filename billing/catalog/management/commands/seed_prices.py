"""manage.py seed_prices: the assumed prices of known products that have none."""

from typing import Any

from django.core.management.base import BaseCommand

from billing.catalog import services
from console.common.actor import system


class Command(BaseCommand):
    help = "Adds an assumed, editable price for every known product that has never had one. Safe to repeat."

    def handle(self, *args: Any, **options: Any) -> None:
        added = services.seed_default_prices(system("setup", via="seed_prices"))
        self.stdout.write(f"{added} assumed prices added")
