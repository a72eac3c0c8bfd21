from django.apps import AppConfig


class CatalogConfig(AppConfig):
    name = "billing.catalog"
    label = "catalog"

    def ready(self) -> None:
        from billing import checks  # noqa: F401 - registers itself
