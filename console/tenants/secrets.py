"""Shape of API tokens: `weir_<8 chars>_<256 random bits>_<checksum>`. Pure: no database, no clock.

The prefix names a token in lists and logs; the checksum lets a scanner or a client tell a typo from a
revoked token without asking us. Only the SHA-256 of the whole token is ever stored.
"""

import hashlib
import secrets
import zlib
from dataclasses import dataclass

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SECRET_LENGTH = 43  # 62**43 > 2**256
_CHECK_LENGTH = 6  # 62**6 > 2**32


@dataclass(frozen=True, slots=True)
class Secret:
    text: str
    prefix: str
    digest: str


def new_token() -> Secret:
    prefix = _random(8)
    body = f"weir_{prefix}_{_random(_SECRET_LENGTH)}"
    text = f"{body}_{_checksum(body)}"
    return Secret(text=text, prefix=prefix, digest=digest(text))


def well_formed(text: str) -> bool:
    """True when the shape and the checksum are right; says nothing about whether the token exists."""
    body, _, check = text.rpartition("_")
    return text.startswith("weir_") and len(text) < 100 and text.isascii() and _checksum(body) == check


def digest(text: str) -> str:
    """SHA-256 in hex: enough for 256 random bits, where a slow password hash would add nothing."""
    return hashlib.sha256(text.encode()).hexdigest()


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


def _checksum(body: str) -> str:
    value, text = zlib.crc32(body.encode()), ""
    for _ in range(_CHECK_LENGTH):
        value, digit = divmod(value, 62)
        text = _ALPHABET[digit] + text
    return text
