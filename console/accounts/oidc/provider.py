"""allauth's OpenID Connect, held to more: PKCE, nonce, the issuer's own name, a signature; nothing from our own URL.

Imported at the first sign-in through a provider only: it brings an HTTP client with it.
"""

import secrets
from typing import Any

from allauth.socialaccount.models import SocialApp, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.utils import generate_code_challenge
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from allauth.utils import build_absolute_uri
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse

from console.accounts.oidc import claims


class Adapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
    state: dict[str, Any]

    @property
    def openid_config(self) -> dict[str, Any]:
        config: dict[str, Any] = super().openid_config
        wanted = str(self.get_provider().app.settings["server_url"])
        if str(config.get("issuer", "")).rstrip("/") != wanted.rstrip("/"):
            raise OAuth2Error(f"the provider calls itself {config.get('issuer')!r}, not {wanted!r}")
        return config

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        path = reverse("oidc_callback", args=[self.provider_id])
        return str(build_absolute_uri(request, path, self.redirect_uri_protocol))

    def complete_login(self, request: HttpRequest, app: SocialApp, token: SocialToken, **more: Any) -> Any:
        """What the ID token says, filled up by what the provider tells of the same person when asked."""
        id_token = more["response"].get("id_token")
        if not isinstance(id_token, str):
            raise OAuth2Error("the provider sent no ID token")
        config = self.openid_config
        told = claims.verified(id_token, config, app.client_id, str(self.state.get("nonce", "")))
        if "userinfo_endpoint" in config:
            asked = self._fetch_user_info(token.token)
            if asked.get("sub") != told["sub"]:
                raise OAuth2Error("the provider tells of another person when asked")
            told = {**asked, **told}
        login = self.get_provider().sociallogin_from_response(request, {"id_token": told})
        login.claims = told
        return login


class Provider(OpenIDConnectProvider):  # type: ignore[misc]
    oauth2_adapter_class = Adapter

    def get_login_url(self, request: HttpRequest, **more: Any) -> str:
        return reverse("oidc_login", args=[self.app.provider_id])

    def get_callback_url(self) -> str:
        return reverse("oidc_callback", args=[self.app.provider_id])

    def get_pkce_params(self) -> dict[str, str]:
        return dict(generate_code_challenge())

    def get_scope_from_request(self, request: HttpRequest) -> list[str]:
        return list(self.get_scope())

    def get_auth_params_from_request(self, request: HttpRequest, action: str) -> dict[str, str]:
        return {}

    def get_redirect_from_request_kwargs(self, request: HttpRequest) -> dict[str, Any]:
        """Signing in is all that it is for: it connects nothing to who is signed in already."""
        return {**super().get_redirect_from_request_kwargs(request), "process": "login"}

    def redirect(self, request: HttpRequest, process: str, **more: Any) -> HttpResponseBase:
        nonce = secrets.token_urlsafe(32)
        params = {**(more.pop("auth_params", None) or {}), "nonce": nonce}
        answer: HttpResponseBase = super().redirect(request, process, auth_params=params, nonce=nonce, **more)
        return answer

    def extract_extra_data(self, data: dict[str, Any]) -> dict[str, Any]:
        return {}  # nothing of a person is kept but who they are at the provider


class Login(OAuth2LoginView):  # type: ignore[misc]
    pass


class Callback(OAuth2CallbackView):  # type: ignore[misc]
    def _get_state(self, request: HttpRequest, provider: Any) -> tuple[dict[str, Any] | None, HttpResponseBase | None]:
        state, refusal = super()._get_state(request, provider)
        self.adapter.state = state or {}
        return state, refusal
