"""`manage.py demo_load`: submits work as the demo's tenants until it is told to stop."""

import signal
from argparse import ArgumentParser
from random import Random
from threading import Event
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from console.demo.load.mix import MEAN_CARDS
from console.demo.load.pace import Pace
from console.demo.load.runner import Load, run


class Command(BaseCommand):
    help = "Keep the demo fleet busy with jobs drawn from the openb task list. Needs `seed_demo` first."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--target", type=float, default=0.875, help="share of the fleet to hold (default 0.875)")
        parser.add_argument("--seed", type=int, default=None, help="of the random numbers (default: another each time)")

    def handle(self, *args: Any, **options: Any) -> None:
        if not 0 < options["target"] <= 1:
            raise CommandError(_("--target must be above 0 and at most 1"))
        stop = Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        pace = Pace(target=options["target"], mean_cards=MEAN_CARDS)
        run(Load(rng=Random(options["seed"]), pace=pace), stop)
