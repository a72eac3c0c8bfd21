"""`manage.py verify_audit`: recomputes the audit chains; exit status 1 and the first bad entry where one is."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from console.audit.queries import verify


class Command(BaseCommand):
    help = "Prove that the audit log is as it was written, or name the first bad entry of each chain."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--chain", default="", help="one chain instead of all")

    def handle(self, *args: Any, chain: str, **options: Any) -> None:
        verdict = verify(chain)
        for fault in verdict.faults:
            self.stderr.write(f"{fault.chain_id} entry {fault.seq}: {fault.reason}")
        if verdict.faults:
            raise CommandError(f"{len(verdict.faults)} of {verdict.chains} chains do not verify")
        self.stdout.write(f"{verdict.entries} entries in {verdict.chains} chains verify")
