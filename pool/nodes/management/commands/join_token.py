"""`manage.py join_token`: a token that lets nodes of one site in. Prints it once, and only it, on standard output."""

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from console.common.actor import system
from console.common.errors import WeirError
from pool.inventory.models import Site
from pool.nodes.services import create_join_token


class Command(BaseCommand):
    help = "Creates a join token for the nodes of a site."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--site", required=True)
        parser.add_argument("--uses", type=int, default=1, help="how many nodes may join with it (default: 1)")
        parser.add_argument("--hours", type=float, default=24, help="how long it is good (default: 24)")
        parser.add_argument("--prefix", default="", help="only for nodes whose name starts with this")

    def handle(self, *args: Any, **options: Any) -> None:
        site = Site.objects.filter(name=options["site"]).first()
        if site is None:
            names = ", ".join(Site.objects.order_by("name").values_list("name", flat=True)[:20])
            raise CommandError(f"--site: there is no site {options['site']!r}; there are: {names or 'none'}")
        try:
            _, text = create_join_token(
                system("operator at the console"),
                site,
                uses=options["uses"],
                valid=timedelta(hours=options["hours"]),
                name_prefix=options["prefix"],
            )
        except (WeirError, OverflowError, ValueError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(text)
