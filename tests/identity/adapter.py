"""Tells the groups of a person, as companies' providers do."""

from typing import Any

from allauth.idp.oidc.adapter import DefaultOIDCAdapter


class Adapter(DefaultOIDCAdapter):  # type: ignore[misc]
    def get_claims(self, purpose: Any, user: Any, client: Any, scopes: Any, **more: Any) -> dict[str, Any]:
        claims: dict[str, Any] = super().get_claims(purpose, user, client, scopes, **more)
        return claims | {"groups": sorted(user.groups.values_list("name", flat=True))}
