"""`manage.py replay_decision ID`: the same decision again, from what was recorded."""

import sys
from dataclasses import asdict
from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandParser

from pool.scheduling.ledger.rebuild import Lost
from pool.scheduling.ledger.replay import Replay, replay

SAME, DIFFERS, LOST = 0, 1, 2


class Command(BaseCommand):
    help = (
        "Makes a decision (dec_...) or a preemption plan (pre_...) again from what was recorded and compares. "
        "Ends with 0: the same to the last bit; 1: it differs; 2: what was recorded is no longer there."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("decision", help="its id, from the job's page or the API")
        parser.add_argument("--json", action="store_true", help="the outcome as JSON as well")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            found = replay(options["decision"])
        except Lost as lost:
            self.stderr.write(f"cannot be replayed ({lost.code}): {lost}")
            sys.exit(LOST)
        self._tell(found)
        if options["json"]:
            self.stdout.write(orjson.dumps(found.outcome, default=sorted, option=orjson.OPT_INDENT_2).decode())
        sys.exit(SAME if found.same else DIFFERS)

    def _tell(self, found: Replay) -> None:
        self.stdout.write(f"decision   {found.public_id}")
        self.stdout.write(f"snapshot   {found.snapshot}, pool {found.pool}")
        self.stdout.write(f"engine     {found.engine}")
        if not found.same_engine:
            self.stdout.write(f"           another version replays it: {found.here}")
        self.stdout.write(f"recorded   {found.recorded}")
        self.stdout.write(f"replayed   {found.again}")
        for place, parts in enumerate(found.others, 1):
            told = asdict(parts)
            self.stdout.write(f"choice {place}   " + ", ".join(f"{name} {told[name]}" for name in _PARTS))
        self.stdout.write("the same, bit for bit" if found.same else "IT DIFFERS")


_PARTS = ("node_key", "bucket", "tie", "node_index")
