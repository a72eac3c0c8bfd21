"""A person, ways to sign in, and codes."""

import time
from typing import Any

import pytest
import redis
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, generate_totp_secret, hotp_value
from django.test import Client

from console.tenants.models import User
from tests import factories

PASSWORD = "a long pass phrase 1"


@pytest.fixture
def user(live: redis.Redis, db: None) -> User:
    return factories.make_user("ada@example.test")


@pytest.fixture(autouse=True)
def _half_a_minute_may_end_between_a_code_and_its_check(settings: Any) -> None:
    settings.MFA_TOTP_TOLERANCE = 1


def sign_in(client: Client, email: str = "ada@example.test", password: str = PASSWORD, **more: Any) -> Any:
    return client.post("/accounts/login/", {"login": email, "password": password}, **more)


def code_of(secret: str) -> str:
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30))


def give_totp(user: User) -> str:
    """The secret of a new authenticator app."""
    secret = generate_totp_secret()
    TOTP.activate(user, secret)
    return secret
