"""`manage.py check_books`: ledger, balances and invoices compared; exit code 1 where they differ."""

import sys
from typing import Any

from django.core.management.base import BaseCommand

from billing.invoices import booking


class Command(BaseCommand):
    help = "Compares balances, postings and issued invoices with the entries of the ledger; changes nothing."

    def handle(self, *args: Any, **options: Any) -> None:
        found = 0
        for fault in booking.every_fault():
            found += 1
            self.stdout.write(f"{fault.kind} {fault.public_id}: kept {fault.kept}, but {fault.said} is right")
        self.stdout.write("the books are right" if not found else f"{found} faults")
        if found:
            sys.exit(1)
