"""Checks of what people type, shared by the writes of this room."""

from typing import Any
from zoneinfo import available_timezones

from django.core.exceptions import ValidationError
from django.core.validators import validate_email, validate_slug

from console.common.errors import FieldError, InvalidInput

LIMITS = ("limit_share_bp", "limit_running_jobs")
_MOST = 2**31 - 1


def check_email(email: str) -> str:
    """As it is stored."""
    email = email.strip().lower()
    check(validate_email, email, "email", "must be an e-mail address such as ada@example.com")
    return email


def check_slug(slug: str) -> None:
    check(validate_slug, slug, "slug", "must be letters, digits, - and _ only, such as research-1")
    if len(slug) > 64:
        raise invalid("slug", "must be at most 64 characters")


def check_name(name: str, most: int = 200) -> str:
    """As it is stored."""
    if not name.strip() or len(name) > most or "\0" in name:
        raise invalid("name", f"must be 1 to {most} characters")
    return name.strip()


def check_tenant(facts: dict[str, Any]) -> None:
    allowed = {"currency", "time_zone", "trust_group", *LIMITS}
    unknown = sorted(set(facts) - allowed)
    if unknown:
        raise InvalidInput([FieldError(name, "is not a field of a tenant") for name in unknown])
    currency = facts.get("currency", "CNY")
    if not (len(currency) == 3 and currency.isascii() and currency.isupper()):
        raise invalid("currency", "must be an ISO 4217 code such as CNY")
    if facts.get("time_zone", "UTC") not in available_timezones():
        raise invalid("time_zone", "must be an IANA name such as Asia/Shanghai")
    if len(facts.get("trust_group", "")) > 64 or "\0" in facts.get("trust_group", ""):
        raise invalid("trust_group", "must be at most 64 characters")
    check_limits(facts)


def check_limits(facts: dict[str, Any]) -> None:
    for name in LIMITS:
        value = facts.get(name)
        if value is not None and not 0 <= value <= _MOST:
            raise invalid(name, f"must be from 0 to {_MOST}, or empty for no limit")


def check(validator: Any, value: str, field: str, message: str) -> None:
    try:
        validator(value)
    except ValidationError:
        raise invalid(field, message) from None


def invalid(field: str, message: str) -> InvalidInput:
    return InvalidInput([FieldError(field, message)])
