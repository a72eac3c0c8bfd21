from django.apps import AppConfig


class EmbeddedConfig(AppConfig):
    name = "console.embedded"
    label = "embedded"
