from django.apps import AppConfig


class CatalogConfig(AppConfig):
    name = "billing.catalog"
    label = "catalog"
