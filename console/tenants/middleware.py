"""Puts the acting party on the request."""

from collections.abc import Callable

import structlog
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from console.tenants import queries
from console.tenants.models import User


class ActorMiddleware:
    """`request.actor`: the Actor of the signed-in person, or None. API tokens set theirs later."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        user = request.user
        if isinstance(user, User) and user.kind != User.Kind.PERSON:
            # whatever way a session came to be: a service account acts by its tokens only
            user = request.user = AnonymousUser()
        request.actor = queries.actor_for_user(user, request) if isinstance(user, User) else None  # type: ignore[attr-defined]
        if request.actor is not None:  # type: ignore[attr-defined]
            structlog.contextvars.bind_contextvars(actor=request.actor.ident)  # type: ignore[attr-defined]
        return self.get_response(request)
