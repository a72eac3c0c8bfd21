"""Opaque public ids: a prefix that names the kind, then 120 random bits. Nothing can be inferred from them."""

import base64
import secrets

_RFC4648 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_CROCKFORD = b"0123456789abcdefghjkmnpqrstvwxyz"  # no i, l, o, u: nothing that reads like something else
_TABLE = bytes.maketrans(_RFC4648, _CROCKFORD)
_BYTES = 15  # 24 characters of base 32 without padding


def make(prefix: str) -> str:
    """`job_` + 24 characters."""
    return f"{prefix}_{base64.b32encode(secrets.token_bytes(_BYTES)).translate(_TABLE).decode()}"
