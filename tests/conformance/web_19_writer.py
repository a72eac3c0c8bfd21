"""One of four writers of case web 19: `python -m tests.conformance.web_19_writer ROUNDS`."""

import os
import sys

import django


def main(rounds: int) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    django.setup()
    write(rounds)


def write(rounds: int) -> None:
    from django.db import transaction

    from console.audit.services import record
    from console.common.actor import system
    from console.common.models import Lease

    for number in range(rounds):
        with transaction.atomic():
            # read, then write: what fails under DEFERRED as soon as another wrote in between
            row = Lease.objects.get(name="web-19")
            Lease.objects.filter(name="web-19").update(epoch=row.epoch + 1)
            record(system("writer"), "lease.count", ("lease", str(number)))


if __name__ == "__main__":
    main(int(sys.argv[1]))
