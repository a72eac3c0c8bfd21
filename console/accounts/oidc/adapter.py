"""Where allauth finds our providers, and whom it signs in. Clients' secrets are opened here and nowhere else."""

from typing import Any

import structlog
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.http import HttpRequest

from console.accounts.models import OidcProvider
from console.accounts.services import oidc_people
from console.accounts.services.providers import open_secret
from console.audit.services import record
from console.common.actor import Actor, ActorKind
from console.tenants.queries import client_address

log = structlog.get_logger(__name__)


class SocialAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    def list_apps(self, request: HttpRequest, provider: Any = None, client_id: Any = None) -> list[Any]:
        rows = OidcProvider.objects.filter(public_id=provider, enabled=True) if provider else []
        return [_app(row) for row in rows]

    def list_providers(self, request: HttpRequest) -> list[Any]:
        return []  # the sign-in page asks for ours itself: a tenant's provider is nobody else's business

    def get_provider(self, request: HttpRequest, provider: str, client_id: Any = None) -> Any:
        from console.accounts.oidc.provider import Provider

        return Provider(request, app=self.get_app(request, provider=provider))

    def get_requests_session(self) -> Any:
        from console.common import outbound

        return outbound.session()

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        return False  # who may come in has been decided by pre_social_login

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        provider = OidcProvider.objects.get(public_id=sociallogin.account.provider)
        sociallogin.account = oidc_people.sign_in(provider, sociallogin.claims, _nobody(request, sociallogin.claims))
        sociallogin.user = sociallogin.account.user

    def on_authentication_error(
        self, request: HttpRequest, provider: Any, error: Any = None, exception: Any = None, extra_context: Any = None
    ) -> None:
        reason = str(exception or error)[:300]
        log.warning("oidc_refused", provider=provider.app.provider_id, reason=reason)
        record(
            _nobody(request, {}),
            "auth.login",
            ("oidcprovider", provider.app.provider_id),
            after={"reason": reason},
            result="refused",
        )


def _app(row: OidcProvider) -> Any:
    """Never saved: allauth would keep the secret as it is."""
    from allauth.socialaccount.models import SocialApp

    return SocialApp(
        provider="openid_connect",
        provider_id=row.public_id,
        name=row.name,
        client_id=row.client_id,
        secret=open_secret(row),
        settings={"server_url": row.issuer.rstrip("/"), "scope": row.scopes.split()},
    )


def _nobody(request: HttpRequest, claims: dict[str, Any]) -> Actor:
    return Actor(
        kind=ActorKind.USER,
        ident="anonymous",
        label=str(claims.get("email") or "")[:150],
        request_id=getattr(request, "request_id", ""),
        address=client_address(request),
    )
