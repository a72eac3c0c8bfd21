"""What an API token may be allowed to do, in code and in words."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

SCOPE_LABELS: dict[str, str | Promise] = {
    "jobs:read": _("see jobs, allocations and queues"),
    "jobs:write": _("submit, stop and change jobs"),
    "fleet:read": _("see nodes and devices"),
    "fleet:write": _("cordon and drain nodes (operators)"),
    "billing:read": _("see usage and invoices"),
    "billing:write": _("book payments, pay invoices from the balance (finance)"),
    "people:read": _("see members, invitations and service accounts"),
    "people:write": _("invite people, give roles, change projects"),
    "tokens:read": _("list API tokens"),
    "tokens:write": _("create and revoke API tokens"),
}
SCOPES: tuple[str, ...] = tuple(SCOPE_LABELS)
# what a service account's token may be allowed to do: work, never money, people or tokens
SERVICE_SCOPES: tuple[str, ...] = ("jobs:read", "jobs:write", "fleet:read")
