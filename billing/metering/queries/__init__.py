"""Every read of usage, scoped by the actor where it is somebody's."""

from billing.metering.queries.reconcile import Reconciliation, reconcile
from billing.metering.queries.revenue import Revenue, revenue
from billing.metering.queries.scope import may_see_money, record_for, records_for, tenants_for
from billing.metering.queries.usage import UsageFilter, UsageRow, summary, total

__all__ = [
    "Reconciliation",
    "Revenue",
    "UsageFilter",
    "UsageRow",
    "may_see_money",
    "reconcile",
    "record_for",
    "records_for",
    "revenue",
    "summary",
    "tenants_for",
    "total",
]
