"""Whom a request comes from."""

from django.http import HttpRequest

from console.common.actor import Actor


def actor_of(request: HttpRequest) -> Actor:
    """Of a page behind the sign-in: ActorMiddleware has set who it is."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    return actor
