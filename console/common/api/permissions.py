"""Who may call at all. What they may see or do is decided by queries and services."""

from typing import TYPE_CHECKING

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from console.common.errors import NotAllowed

if TYPE_CHECKING:  # DRF reads this module while it imports its own views
    from rest_framework.views import APIView

_READS = frozenset({"GET", "HEAD", "OPTIONS"})


class HasActor(BasePermission):
    """Signed in by session or token; a token also needs the scope `<view.room>:read` or `:write`."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        actor = getattr(request._request, "actor", None)
        if actor is None:
            return False
        room = getattr(view, "room", "")
        scope = f"{room}:{'read' if request.method in _READS else 'write'}"
        if room and not actor.has_scope(scope):
            raise NotAllowed(f"this token lacks the scope {scope}", code="scope_missing")
        return True
