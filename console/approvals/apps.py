from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    name = "console.approvals"
    label = "approvals"
