from django.apps import AppConfig


class NodesConfig(AppConfig):
    name = "pool.nodes"
    label = "nodes"
