"""How allauth behaves here: nobody signs up by themselves, people are known by e-mail, sign-ins are audited."""

import time
from typing import Any

from allauth.account import app_settings as account
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import get_authentication_records
from allauth.core import context
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from console.accounts import services
from console.accounts.queries import FACTOR_BY, managed_by
from console.audit.services import record
from console.common.actor import Actor, ActorKind
from console.tenants import queries
from console.tenants.models import User


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False  # accounts come from console.tenants.services.create_user

    def populate_username(self, request: HttpRequest, user: User) -> None:
        user.username = user.public_id

    def post_login(self, request: HttpRequest, user: User, **kwargs: Any) -> HttpResponse:
        if sociallogin := (kwargs.get("signal_kwargs") or {}).get("sociallogin"):
            request.session[FACTOR_BY] = sociallogin.account.provider
        services.note_success(queries.actor_for_user(user, request))
        record(queries.actor_for_user(user, request), "auth.login", user)
        response: HttpResponse = super().post_login(request, user, **kwargs)
        return response

    def logout(self, request: HttpRequest) -> None:
        if isinstance(request.user, User):
            record(queries.actor_for_user(request.user, request), "auth.logout", request.user)
        super().logout(request)

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        """Who knows no password yet, since a one-time link let them in, sets one where others are asked for theirs."""
        known: list[dict[str, Any]] = super().get_reauthentication_methods(user)
        if known or not user.is_authenticated or user.has_usable_password():
            return known
        if user.pk in managed_by([user.pk]):
            return [{"id": "oidc", "description": _("Sign in again"), "url": reverse("oidc_again")}]
        return [{"id": "set_password", "description": _("Set a password"), "url": reverse("account_set_password")}]

    def set_password(self, user: User, password: str) -> None:
        """Both the change of a known password and the setting of a first one come through here."""
        with transaction.atomic():
            super().set_password(user, password)
            record(queries.actor_for_user(user), "user.password", user)

    def is_reauthentication_required(self, *, app: str, **kwargs: Any) -> bool:
        """Whoever came from an OpenID provider within these minutes has just shown who they are."""
        if oidc_is_fresh(context.request):
            return False
        return bool(super().is_reauthentication_required(app=app, **kwargs))

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        services.refuse_if_locked(nobody(request, **credentials))
        super().pre_authenticate(request, **credentials)

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        """An unknown address is named too: it is what shows that someone is guessing."""
        actor = nobody(request, **credentials)
        record(actor, "auth.login", ("user", "unknown"), result="refused")
        services.note_failure(actor)


def nobody(request: HttpRequest, **credentials: Any) -> Actor:
    """Who tries to sign in, under the address that was typed."""
    return Actor(
        kind=ActorKind.USER,
        ident="anonymous",
        label=str(credentials.get("email") or credentials.get("username") or "")[:150],
        request_id=getattr(request, "request_id", ""),
        address=queries.client_address(request),
    )


def oidc_is_fresh(request: HttpRequest) -> bool:
    records = get_authentication_records(request, request.user)
    last = max((entry["at"] for entry in records if entry["method"] == "socialaccount"), default=0.0)
    return bool(time.time() - last < account.REAUTHENTICATION_TIMEOUT)
