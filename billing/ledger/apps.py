from django.apps import AppConfig


class LedgerConfig(AppConfig):
    name = "billing.ledger"
    label = "ledger"
