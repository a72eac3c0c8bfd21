from django.apps import AppConfig


class SchedulingConfig(AppConfig):
    name = "pool.scheduling"
    label = "scheduling"
