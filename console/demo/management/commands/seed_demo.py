"""`manage.py seed_demo`: people, tenants, queues, prices and a simulated fleet. Run twice: the same."""

from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from console.common.errors import WeirError
from console.demo import services
from console.demo.fleet import SITES


def _devices(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 8 <= int(text) <= 100_000 or int(text) % 8:
        raise ArgumentTypeError(f"{text!r} is not a multiple of 8 from 8 to 100000")
    return int(text)


class Command(BaseCommand):
    help = "Make the demo's accounts, tenants, queues, prices and nodes; those of them that are missing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--devices", type=_devices, default=1024, help="size of the fleet (default 1024)")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            services.seed(options["devices"])
            for site in SITES:
                wanted = services.write_site_files(settings.HOME, site, options["devices"])
                if options["verbosity"]:
                    self.stdout.write(_("%(site)s: %(count)d nodes may join") % {"site": site.name, "count": wanted})
        except WeirError as error:
            raise CommandError(error.message) from error
