"""Draining a whole site, which a second operator approves."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from console.approvals.actions import Action
from console.approvals.models import Approval
from console.approvals.services import request_approval
from console.common.actor import Actor, PlatformRole
from pool.inventory.models import Node, Site
from pool.inventory.services.states import set_node_state


def ask_to_drain(actor: Actor, site: Site, reason: str) -> Approval:
    """Raises NotAllowed, Conflict for a request that waits already."""
    return request_approval(actor, DRAIN_SITE.kind, ("site", site.public_id), site.name, {}, reason)


def _drain(actor: Actor, approval: Approval, arguments: dict[str, Any]) -> None:
    """Every node that the site has at this moment, in the order in which nodes are locked everywhere."""
    nodes = Node.objects.filter(site__public_id=approval.object_id).exclude(state=Node.State.DRAINING)
    for node in nodes.order_by("pk"):
        set_node_state(actor, node, Node.State.DRAINING, approval.reason)


DRAIN_SITE = Action("site.drain", _("Drain a site"), PlatformRole.OPERATOR, _drain)
