"""Small sealed values: encrypted and authenticated with a key made from SECRET_KEY (AES-256-GCM).

For what leaves the server and must tell nothing (page cursors would reveal row counts of all tenants), and for
what rests in the database and must not be read there (stored answers that hold a new token).
"""

import base64
import binascii
import os
from functools import cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

_NONCE = 12  # bytes, the size AES-GCM is specified for


class Broken(ValueError):
    """Not sealed by us, for another purpose, or changed."""


def seal(purpose: str, data: bytes) -> bytes:
    nonce = os.urandom(_NONCE)
    return nonce + _cipher(settings.SECRET_KEY, purpose).encrypt(nonce, data, None)


def unseal(purpose: str, data: bytes) -> bytes:
    try:
        return _cipher(settings.SECRET_KEY, purpose).decrypt(data[:_NONCE], data[_NONCE:], None)
    except (InvalidTag, ValueError):
        raise Broken(f"not a sealed {purpose}") from None


def seal_text(purpose: str, text: str) -> str:
    """As `seal`, in URL-safe letters."""
    return base64.urlsafe_b64encode(seal(purpose, text.encode())).decode().rstrip("=")


def unseal_text(purpose: str, text: str) -> str:
    try:
        data = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (ValueError, binascii.Error):
        raise Broken(f"not a sealed {purpose}") from None
    return unseal(purpose, data).decode()


@cache
def _cipher(secret: str, purpose: str) -> AESGCM:
    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=f"weir {purpose}".encode()).derive(secret.encode())
    return AESGCM(key)
