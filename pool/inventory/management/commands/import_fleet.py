"""`manage.py import_fleet FILE`: hardware from a YAML inventory or an openb node list."""

import getpass
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from console.common.actor import Actor, ActorKind, PlatformRole
from console.common.errors import InvalidInput, WeirError
from pool.inventory import queries
from pool.inventory.importing import read_fleet
from pool.inventory.services import Count, ImportReport, import_fleet


class Command(BaseCommand):
    help = "Import sites, nodes and devices from a YAML inventory or an openb node list. All or nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="YAML inventory (docs/inventory.md) or openb node list (CSV)")
        parser.add_argument("--site", default="", help="site of the nodes of an openb list (default: openb)")
        parser.add_argument("--dry-run", action="store_true", help="say what would change, change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            draft = read_fleet(options["file"], options["site"], queries.model_memory())
            report = import_fleet(_actor(), draft, dry_run=options["dry_run"])
        except InvalidInput as error:
            lines = [f"  {problem.field}: {problem.message}" for problem in error.errors]
            head = _("%(file)s was not imported; nothing was changed:") % {"file": options["file"]}
            raise CommandError("\n".join([head, *lines])) from error
        except WeirError as error:
            raise CommandError(error.message) from error
        self._say(report)

    def _say(self, report: ImportReport) -> None:
        self.stdout.write(_line(_("Nodes"), report.nodes))
        self.stdout.write(_line(_("Devices"), report.devices))
        if report.removed:
            self.stdout.write(_("Devices no longer listed: %(count)d") % {"count": report.removed})
        if report.dry_run:
            self.stdout.write(_("Dry run: nothing was changed."))
        elif not report.changed:
            self.stdout.write(_("Everything is as the file says: nothing was changed."))


def _line(what: str, count: Count) -> str:
    figures = {"what": what, "new": count.created, "updated": count.updated, "same": count.unchanged}
    return _("%(what)s: %(new)d created, %(updated)d updated, %(same)d unchanged") % figures


def _actor() -> Actor:
    """Whoever may run commands on this machine acts as an operator; the audit log names the account."""
    try:
        account = getpass.getuser()
    except (KeyError, OSError):  # a container without a name for its user
        account = "unknown"
    return Actor(
        kind=ActorKind.SYSTEM,
        ident=f"system:shell:{account}"[:80],
        label=f"{account} (command line)",
        platform_role=PlatformRole.OPERATOR,
        via="manage.py import_fleet",
    )
