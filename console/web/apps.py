from importlib import import_module

from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "console.web"
    label = "web"

    def ready(self) -> None:
        # the top room is ready last, so every port can be plugged now; wiring imports models, hence not at import
        import_module("console.wiring").plug()
