from django.apps import AppConfig


class CommonConfig(AppConfig):
    name = "console.common"
    label = "common"
