"""What needs a second person: each room describes its dangerous acts as an Action, and the wiring registers them.

To add one: write an Action beside the service that does it, let the page call `services.request_approval`, and add the
Action to console/wiring.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise

from console.approvals.models import Approval
from console.common.actor import Actor, ActorKind, PlatformRole

Execute = Callable[[Actor, Approval, dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Action:
    """`power`: the role that asks for it and that another person of the same role approves.

    `execute` runs once, inside a transaction, as who asked; a WeirError from it undoes all of it.
    """

    kind: str
    title: str | Promise
    power: PlatformRole
    execute: Execute

    def may(self, actor: Actor) -> bool:
        """People in their own session only: a token, which somebody may have found, neither asks nor approves."""
        return actor.kind is ActorKind.USER and actor.user_id is not None and actor.platform_role is self.power


_actions: dict[str, Action] = {}


def register(action: Action) -> None:
    """Registering the same kind again replaces it: the wiring may run twice."""
    _actions[action.kind] = action


def action_of(kind: str) -> Action:
    return _actions[kind]


def kinds_of(actor: Actor) -> list[str]:
    """What this actor may ask for and approve."""
    return [kind for kind, action in _actions.items() if action.may(actor)]
