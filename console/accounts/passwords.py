"""Which passwords are refused because they are known: the list that ships with Django, and one of your own.

A digit or a sign at the end does not make a known password unknown, nor do letters written as digits.
"""

import hashlib
import os
from functools import cache
from pathlib import Path

from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

_LETTERS = str.maketrans("013457@$!", "oleastasi")
_ENDS = "0123456789!@#$%^&*()-_=+.,;:?~ "
_LONGEST_LINE = 80  # 40 of the digest, a colon, a count


class BreachedPasswordValidator:
    """`path`: a file of SHA-1 digests in hex, sorted, one a line, each with or without `:count`; "" for none."""

    def __init__(self, path: str = "") -> None:
        self.path = path

    def validate(self, password: str, user: object = None) -> None:
        if _is_known(password) or (self.path and _in_file(Path(self.path), _sha1(password))):
            raise ValidationError(
                _("This password, or what it is made from, is in lists of stolen passwords. Choose another."),
                code="password_breached",
            )

    def get_help_text(self) -> str:
        return _("Your password must not be one that is in lists of stolen passwords.")


def _is_known(password: str) -> bool:
    lower = password.lower()
    forms = {lower, lower.strip(_ENDS), lower.translate(_LETTERS), lower.strip(_ENDS).translate(_LETTERS)}
    return not _shipped().isdisjoint(forms)


@cache
def _shipped() -> frozenset[str]:
    return frozenset(CommonPasswordValidator().passwords)


def _sha1(password: str) -> bytes:
    # the form in which such lists are given out; nothing is kept in it
    return hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper().encode()


def _in_file(path: Path, digest: bytes) -> bool:
    """A binary search: the whole list is some 40 GB. A file that cannot be read refuses nobody, but raises OSError."""
    with path.open("rb") as file:
        low, high = 0, os.fstat(file.fileno()).st_size
        while low < high:
            middle = (low + high) // 2
            file.seek(middle)
            if middle:
                file.readline()  # the rest of the line that we fell into
            line = file.readline(_LONGEST_LINE)
            if not line or line[:40].upper() > digest:
                high = middle
            elif line[:40].upper() == digest:
                return True
            else:
                low = middle + 1
        file.seek(0)
        return file.readline(_LONGEST_LINE)[:40].upper() == digest
