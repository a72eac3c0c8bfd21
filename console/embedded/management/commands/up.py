"""`manage.py up`. manage.py itself runs it before Django is loaded; this file puts it into the list of commands."""

import sys
from typing import Any

from django.core.management.base import BaseCommand

from console.embedded.__main__ import main
from console.embedded.options import parser


class Command(BaseCommand):
    help = "Start Weir on this machine: database, Valkey, console, gateway, scheduler, workers and an agent."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> Any:
        return parser()

    def run_from_argv(self, argv: list[str]) -> None:
        sys.exit(main(argv[2:]))

    def handle(self, *args: Any, **options: Any) -> None:
        sys.exit(main([]))
