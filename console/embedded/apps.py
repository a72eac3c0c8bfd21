from importlib import import_module

from django.apps import AppConfig
from django.db import connections

from console.embedded.database import refuse_deferred


class EmbeddedConfig(AppConfig):
    name = "console.embedded"
    label = "embedded"

    def ready(self) -> None:
        # every Django process must know our Celery app before it sends a task
        import_module("console.celery")
        # here and not in a system check: no process of ours may run without it, and only commands run checks
        refuse_deferred(connections.settings)
