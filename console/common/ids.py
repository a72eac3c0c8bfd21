"""Opaque public ids: a prefix that names the kind, then 120 random bits. Nothing can be inferred from them."""

import secrets

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford base 32, lower case
_LENGTH = 24


def make(prefix: str) -> str:
    """`job_` + 24 characters."""
    bits = secrets.randbits(5 * _LENGTH)
    return prefix + "_" + "".join(_ALPHABET[(bits >> (5 * i)) & 31] for i in range(_LENGTH))
