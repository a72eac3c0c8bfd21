"""A price change back in time, which a second finance officer approves. Usage that is rated keeps its price."""

from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy as _

from billing import config
from billing.catalog import services
from console.approvals.actions import Action
from console.approvals.models import Approval
from console.approvals.services import request_approval
from console.common.actor import Actor, PlatformRole


def ask_to_backdate(actor: Actor, facts: dict[str, Any], reason: str) -> Approval:
    """`facts`: those of set_price, with a `valid_from` in the past. Checked now, and again when it is carried out."""
    services.check_backdated(actor, **facts)
    amount, begin = facts["per_card_hour"], facts["valid_from"]
    told = {
        "model_name": facts["model_name"],
        "isolation": facts["isolation"],
        "per_card_hour": None if amount is None else str(amount),
        "valid_from": begin.isoformat(),
        "note": facts.get("note", ""),
        "currency": facts.get("currency", "") or config.currency(),
    }
    product = f"{told['model_name']} {told['isolation']}"
    return request_approval(actor, BACKDATED_PRICE.kind, ("product", product), product, told, reason)


def _set(actor: Actor, approval: Approval, arguments: dict[str, Any]) -> None:
    begin = datetime.fromisoformat(arguments["valid_from"])
    services.set_price(actor, **arguments | {"valid_from": begin}, approved=True)


BACKDATED_PRICE = Action("price.backdate", _("Change a price back in time"), PlatformRole.FINANCE, _set)
