from django.apps import AppConfig


class MeteringConfig(AppConfig):
    name = "billing.metering"
    label = "metering"
