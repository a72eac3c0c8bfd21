from django.apps import AppConfig


class InventoryConfig(AppConfig):
    name = "pool.inventory"
    label = "inventory"
