"""One-time sign-in links: what `manage.py up` prints, and how an account without a password gets in."""

import secrets
from datetime import datetime, timedelta

from django.db import transaction

from console.audit.services import record
from console.common import clock
from console.common.actor import Actor, system
from console.common.errors import FieldError, InvalidInput, NotAllowed, NotFound
from console.tenants.models import SignInLink, User
from console.tenants.secrets import digest

_MAX_MINUTES = 24 * 60


@transaction.atomic
def create_sign_in_link(user: User, minutes: int = 15, actor: Actor | None = None) -> str:
    """The path of a link that signs `user` in once, within `minutes` (at most a day). 256 random bits."""
    if not 1 <= minutes <= _MAX_MINUTES:
        raise InvalidInput([FieldError("minutes", f"must be from 1 to {_MAX_MINUTES}")])
    if user.kind != User.Kind.PERSON:
        raise NotAllowed("a service account does not sign in: make a token for it")
    token = secrets.token_urlsafe(32)
    expires = clock.now() + timedelta(minutes=minutes)
    SignInLink.objects.create(user=user, digest=digest(token), expires_at=expires)
    record(actor or system("sign-in links"), "sign_in_link.create", user, after={"expires_at": expires.isoformat()})
    return f"/signin/{token}/"


@transaction.atomic
def consume_sign_in_link(token: str, now: datetime) -> User:
    """The person of an unused, unexpired link, which is spent by this call. Raises NotFound otherwise."""
    refusal = NotFound("this sign-in link was used already, has expired, or never existed")
    link = SignInLink.objects.select_related("user").filter(digest=digest(token), user__is_active=True).first()
    if link is None:
        raise refusal
    # the condition stands in the UPDATE itself, without a join: a sub-query is not asked again after waiting for
    # another's lock, and on PostgreSQL two would win
    if not SignInLink.objects.filter(pk=link.pk, used_at__isnull=True, expires_at__gt=now).update(used_at=now):
        raise refusal
    return link.user
