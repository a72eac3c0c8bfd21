"""An ID token is believed with a signature of the provider's own keys only, and if made for this very sign-in."""

import hmac
from typing import Any

import jwt
from allauth.socialaccount.providers.oauth2.client import OAuth2Error

from console.common import outbound

# signatures only: nothing with a shared secret, and not "none"
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_CLOCKS_APART_S = 60


def verified(token: str, config: dict[str, Any], client_id: str, nonce: str) -> dict[str, Any]:
    """The claims. Raises OAuth2Error where anything is not as OpenID Connect Core 3.1.3.7 asks for."""
    try:
        header = jwt.get_unverified_header(token)
        algorithm = str(header.get("alg"))
        if algorithm not in ALGORITHMS:
            raise OAuth2Error(f"ID token signed with {algorithm!r}")
        key = _key(str(config["jwks_uri"]), header.get("kid"))
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            audience=client_id,
            issuer=str(config["issuer"]),
            leeway=_CLOCKS_APART_S,
            options={"require": ["iss", "sub", "aud", "exp", "iat"]},
        )
    except (jwt.PyJWTError, KeyError) as error:
        raise OAuth2Error(f"ID token: {error!r}") from error
    _check(claims, client_id, nonce)
    return claims


def _check(claims: dict[str, Any], client_id: str, nonce: str) -> None:
    given = claims.get("nonce")
    if not nonce or not isinstance(given, str) or not hmac.compare_digest(given.encode(), nonce.encode()):
        raise OAuth2Error("ID token: its nonce is not that of this sign-in")
    several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if (several or "azp" in claims) and claims.get("azp") != client_id:
        raise OAuth2Error("ID token: made for another client")


def _key(url: str, kid: object) -> Any:
    with outbound.session() as session:
        answer = session.get(url)
        answer.raise_for_status()
        keys = jwt.PyJWKSet.from_dict(answer.json()).keys
    usable = [key for key in keys if key.public_key_use in {None, "sig"} and (kid is None or key.key_id == kid)]
    if len(usable) != 1:
        raise OAuth2Error(f"the provider has {len(usable)} keys with the id {kid!r}")
    return usable[0].key
