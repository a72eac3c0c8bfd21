"""`manage.py prepare`: what `up` needs done before the workers start. Hands facts over as lines {"weir": {...}}."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import Error, connection
from redis import RedisError

from console.embedded.database import ask
from console.embedded.health import ask_valkey
from console.embedded.services import first_operator, has_joined, join_token
from console.tenants.services import create_sign_in_link

LOCAL_SITE = "local"
LINK_MINUTES = 60  # time enough to come back to the terminal


class Command(BaseCommand):
    help = "Bring the tables up to date, make the first operator and a one-time sign-in link (used by `up`)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--demo-devices", type=int, default=0, metavar="N", help="make the demo, with N devices")
        parser.add_argument("--agent-node", default="", metavar="NAME", help="a node agent of this name will dial in")
        parser.add_argument("--agent-joins", action="store_true", help="it has no credential yet")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._prepare(options)
        except (Error, ImproperlyConfigured, RedisError) as error:
            self._hand_over(failure=(str(error).strip() or type(error).__name__).splitlines()[0])
            raise CommandError(str(error)) from error

    def _prepare(self, options: dict[str, Any]) -> None:
        ask(connection)
        ask_valkey()
        call_command("migrate", interactive=False, verbosity=0)
        self._hand_over(migrated="yes")
        if options["demo_devices"]:
            self._hand_over(step="Demo: tenants, people, queues, prices and a simulated fleet")
            call_command("seed_demo", devices=options["demo_devices"], verbosity=0)
        else:
            call_command("seed_prices", verbosity=0)  # assumed ones, marked as such, or usage would stay unrated
        self._hand_over(sign_in=create_sign_in_link(first_operator(), minutes=LINK_MINUTES))
        node = options["agent_node"]
        if node and (options["agent_joins"] or not has_joined(node)):
            self._hand_over(agent_token=join_token(LOCAL_SITE, node))

    def _hand_over(self, **facts: str) -> None:
        self.stdout.write(json.dumps({"weir": facts}))
        self.stdout.flush()
