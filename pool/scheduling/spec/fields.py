"""Readers of single fields. Each returns a checked value or notes a FieldError and returns the default."""

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from django.utils.translation import gettext as _

from console.common.errors import FieldError

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")
_LABEL_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?\Z")
MAX_TEXT_BYTES = 64 * 1024  # of a command or an environment together


class Reader:
    """Reads one JSON object field by field, so that every error of a request is told at once."""

    def __init__(self, data: Mapping[str, Any], path: str, errors: list[FieldError]) -> None:
        self.data, self.path, self.errors = data, path, errors
        self.known: set[str] = set()

    def fail(self, name: str, message: str) -> None:
        self.errors.append(FieldError(self.path + name, message))

    def has(self, name: str) -> bool:
        self.known.add(name)
        return self.data.get(name) is not None

    def unknown(self) -> None:
        """Notes each field that nobody read."""
        for name in self.data:
            if name not in self.known:
                known = ", ".join(sorted(self.known))
                self.fail(str(name)[:80], _("unknown field; known fields are %(known)s") % {"known": known})

    def integer(self, name: str, default: int, low: int, high: int) -> int:
        if not self.has(name):
            return default
        value = self.data[name]
        # bool is an int in Python; 1.0 is not what an API client means by a count
        if isinstance(value, bool) or not isinstance(value, int):
            self.fail(name, _("must be a whole number from %(low)s to %(high)s") % {"low": low, "high": high})
            return default
        if not low <= value <= high:
            self.fail(name, _("must be from %(low)s to %(high)s") % {"low": low, "high": high})
            return default
        return value

    def boolean(self, name: str) -> bool:
        if not self.has(name):
            return False
        value = self.data[name]
        if not isinstance(value, bool):
            self.fail(name, _("must be true or false"))
            return False
        return value

    def text(self, name: str, default: str = "", longest: int = 120) -> str:
        if not self.has(name):
            return default
        value = self.data[name]
        if not isinstance(value, str) or not is_clean(value):
            self.fail(name, _("must be text without control characters"))
            return default
        if len(value) > longest:
            self.fail(name, _("must have at most %(longest)s characters") % {"longest": longest})
            return default
        return value.strip()

    def choice(self, name: str, default: str, allowed: tuple[str, ...]) -> str:
        value = self.text(name, default, 64)
        if value not in allowed:
            self.fail(name, _("must be one of %(allowed)s") % {"allowed": ", ".join(allowed)})
            return default
        return value

    def texts(self, name: str, longest: int = 64) -> tuple[str, ...]:
        if not self.has(name):
            return ()
        value = self.data[name]
        good = isinstance(value, list) and all(
            isinstance(v, str) and 0 < len(v) <= longest and is_clean(v) for v in value
        )
        if not good:
            self.fail(name, _("must be a list of names"))
            return ()
        return tuple(dict.fromkeys(value))

    def command(self, name: str) -> tuple[str, ...]:
        self.known.add(name)
        value = self.data.get(name)
        if not isinstance(value, list) or not value or not all(isinstance(word, str) for word in value):
            self.fail(name, _('must be a list of words, the program first, such as ["python", "train.py"]'))
            return ()
        if not value[0]:
            self.fail(f"{name}[0]", _("must name a program"))
        for index, word in enumerate(value):
            if "\0" in word:
                self.fail(f"{name}[{index}]", _("must not contain a NUL character"))
        if sum(len(word.encode("utf-8", "surrogatepass")) for word in value) > MAX_TEXT_BYTES:
            self.fail(name, _("must have at most %(longest)s bytes") % {"longest": MAX_TEXT_BYTES})
        return tuple(value)

    def mapping(self, name: str, environment: bool) -> dict[str, str]:
        """Environment variables, or labels."""
        if not self.has(name):
            return {}
        value = self.data[name]
        if not isinstance(value, dict):
            self.fail(name, _("must be an object of names and texts"))
            return {}
        pattern = _ENV_NAME if environment else _LABEL_NAME
        for key, item in value.items():
            if not isinstance(key, str) or not pattern.match(key):
                self.fail(f"{name}.{str(key)[:40]}", _("is not a valid name"))
            elif not isinstance(item, str) or "\0" in item or (not environment and len(item) > 128):
                self.fail(f"{name}.{key}", _("must be text without NUL characters"))
        if len(str(value)) > MAX_TEXT_BYTES:
            self.fail(name, _("must have at most %(longest)s bytes") % {"longest": MAX_TEXT_BYTES})
        return value

    def share_bp(self, name: str) -> int | None:
        """A fraction of a card in basis points: 1/16 steps and any 1 %, up to a whole card."""
        if not self.has(name):
            return None
        number = _decimal(self.data[name])
        right = _("must be a share of one card from 0.01 to 1: whole percents, or a multiple of 1/16")
        if number is None or not Decimal(0) < number <= 1:
            self.fail(name, right)
            return None
        points = number * 10_000
        if points != points.to_integral_value() or (int(points) % 100 and int(points) % 625):
            self.fail(name, right)
            return None
        return int(points)


def is_clean(value: str) -> bool:
    """Printable text: no control characters and no lone surrogates."""
    return all(char.isprintable() for char in value)


def _decimal(value: Any) -> Decimal | None:
    """An exact, finite, reasonably short number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    text = repr(value) if isinstance(value, float) else str(value)
    if len(text) > 32 or not re.fullmatch(r"\+?[0-9]*\.?[0-9]+([eE][+-]?[0-9]{1,2})?", text):
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        return None
