"""One command, nothing but pip: SQLite, Valkey from a wheel, and the process supervisor of `manage.py up`."""
