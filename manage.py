#!/usr/bin/env python
"""Every command starts here."""

import os
import sys


def main() -> None:
    if sys.argv[1:2] == ["up"]:
        # before Django: the supervisor stays small, and says in one line why it cannot start
        from console.embedded.__main__ import main as up

        sys.exit(up(sys.argv[2:]))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
