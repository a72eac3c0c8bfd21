"""`manage.py scheduler`: the scheduler of this cell, or a standby for it."""

import sys
from typing import Any

from django.core.management.base import BaseCommand

from pool.scheduling.worker import run


class Command(BaseCommand):
    help = "Runs the scheduler of this cell; a second one stands by until the first one's lease ends."

    def handle(self, *args: Any, **options: Any) -> None:
        sys.exit(run())
