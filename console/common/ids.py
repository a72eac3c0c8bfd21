"""Opaque public ids: a prefix that names the kind, then 120 random bits. Nothing can be inferred from them."""

import os

_CROCKFORD = b"0123456789abcdefghjkmnpqrstvwxyz"  # no i, l, o, u: nothing that reads like something else
_TABLE = _CROCKFORD * 8  # any byte to one of the 32, all equally likely
_LENGTH = 24  # characters of five bits


def make(prefix: str) -> str:
    """`job_` + 24 characters."""
    return f"{prefix}_{os.urandom(_LENGTH).translate(_TABLE).decode()}"
