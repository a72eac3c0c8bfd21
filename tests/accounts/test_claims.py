"""ID tokens that must not be believed, against keys that a real server gives out."""

import http.server
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from console.accounts.oidc.claims import verified

OURS = rsa.generate_private_key(public_exponent=65537, key_size=2048)
THEIRS = rsa.generate_private_key(public_exponent=65537, key_size=2048)
ISSUER, CLIENT, NONCE = "https://login.example.com", "weir", "n-0S6_WzA2Mj"


class Keys(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        key = json.loads(RSAAlgorithm.to_jwk(OURS.public_key())) | {"kid": "one", "use": "sig", "alg": "RS256"}
        body = json.dumps({"keys": [key]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def config(settings: Any) -> Iterator[dict[str, Any]]:
    settings.WEIR_OUTBOUND_PRIVATE = True
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Keys)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield {"issuer": ISSUER, "jwks_uri": f"http://127.0.0.1:{server.server_port}/keys"}
    server.shutdown()
    server.server_close()
    thread.join()


def token(key: Any = OURS, algorithm: str = "RS256", kid: str = "one", **changes: Any) -> str:
    now = int(time.time())
    claims = {"iss": ISSUER, "sub": "1", "aud": CLIENT, "exp": now + 300, "iat": now, "nonce": NONCE, **changes}
    given = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(given, key, algorithm, headers={"kid": kid})


def test_a_good_one(config: dict[str, Any]) -> None:
    assert verified(token(), config, CLIENT, NONCE)["sub"] == "1"
    several = token(aud=[CLIENT, "other"], azp=CLIENT)
    assert verified(several, config, CLIENT, NONCE)["azp"] == CLIENT


@pytest.mark.parametrize(
    "wrong",
    [
        {"key": THEIRS},
        {"kid": "two"},
        {"key": None, "algorithm": "none"},
        {"key": "a shared secret of thirty-two letters", "algorithm": "HS256"},
        {"iss": "https://evil.example.com"},
        {"aud": "another"},
        {"aud": [CLIENT, "other"]},
        {"azp": "another"},
        {"exp": int(time.time()) - 600},
        {"iat": int(time.time()) + 6000},
        {"sub": None},
        {"exp": None},
        {"nonce": "another"},
        {"nonce": None},
        {"nonce": 7},
    ],
)
def test_refused(config: dict[str, Any], wrong: dict[str, Any]) -> None:
    with pytest.raises(OAuth2Error):
        verified(token(**wrong), config, CLIENT, NONCE)


def test_a_changed_letter_and_no_nonce_of_ours(config: dict[str, Any]) -> None:
    good = token()
    head, body, signature = good.split(".")
    for bad in (f"{head}.{body}.{signature[:-4]}AAAA", f"{head}.{body[:-4]}AAAA.{signature}", "x.y.z", ""):
        with pytest.raises(OAuth2Error):
            verified(bad, config, CLIENT, NONCE)
    with pytest.raises(OAuth2Error):
        verified(token(nonce=""), config, CLIENT, "")
