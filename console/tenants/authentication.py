"""How the API learns who calls: a bearer token, or the browser's session."""

from datetime import timedelta

from rest_framework.authentication import BaseAuthentication
from rest_framework.authentication import SessionAuthentication as RestSessionAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from console.common import clock
from console.tenants import queries, secrets, services
from console.tenants.models import ApiToken, User

_INVALID = "the API token is unknown, expired or revoked"
_TOUCH = timedelta(minutes=1)


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer weir_...`. Needs no CSRF token: a browser never sends this header by itself."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        token, memberships = _find(text.strip())
        actor = queries.actor_for_token(token, request._request, memberships)
        request._request.actor = actor  # type: ignore[attr-defined]
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="weir"'


class SessionAuthentication(RestSessionAuthentication):
    """The browser's session, always with CSRF protection; ActorMiddleware has set the actor."""

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        user = getattr(request._request, "user", None)
        if not isinstance(user, User) or not user.is_active:
            return None
        # Django's request: DRF's would parse the body here, before idempotency keys can see it as it came
        self.enforce_csrf(request._request)  # type: ignore[arg-type]
        return user, None


def _find(text: str) -> tuple[ApiToken, queries.Memberships]:
    if not secrets.well_formed(text):
        raise AuthenticationFailed(_INVALID)
    found = queries.token_with_memberships(secrets.digest(text))
    if found is None:
        raise AuthenticationFailed(_INVALID)
    token = found[0]
    now = clock.now()
    if token.revoked_at is not None or not token.user.is_active:
        raise AuthenticationFailed(_INVALID)
    if token.expires_at is not None and token.expires_at <= now:
        raise AuthenticationFailed(_INVALID)
    # at most one write a minute: a busy token must not cost a transaction a call
    if token.last_used_at is None or now - token.last_used_at >= _TOUCH:
        services.touch_token(token, now, not_since=now - _TOUCH)
    return found
