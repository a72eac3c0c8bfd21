"""Passkeys in a real browser with a virtual authenticator: made, used to sign in, used as second factor, taken away."""

import re
from typing import Any

import pytest
import redis
from allauth.mfa.models import Authenticator
from django.conf import settings
from playwright.sync_api import Page, expect

from console.audit.models import AuditEntry
from console.tenants.models import User
from tests import factories
from tests.browser.conftest import Open, Seen

PASSWORD = "a long pass phrase 1"


@pytest.fixture
def user(transactional_db: None) -> User:
    redis.Redis.from_url(settings.REDIS_URL).flushall()
    return factories.make_user("ada@example.test")


def with_authenticator(page: Page) -> None:
    """A platform authenticator that says yes to everything."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options: dict[str, Any] = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    session.send("WebAuthn.addVirtualAuthenticator", {"options": options})


def sign_in(page: Page, email: str) -> None:
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def add_passkey(seen: Seen, passwordless: bool = True) -> None:
    page = seen.page
    seen.visit("/accounts/2fa/passkeys/add/")
    page.get_by_label("Password").fill(PASSWORD)  # asked again, since a factor changes
    page.get_by_role("button", name="Confirm").click()
    page.wait_for_url("**/passkeys/add/**")
    box = page.locator("#id_passwordless")
    expect(box).to_be_checked()
    if not passwordless:
        box.uncheck()
    page.locator("#id_name").fill("laptop")
    page.locator("#mfa_webauthn_add").click()
    page.wait_for_url("**/recovery-codes/**")


def test_a_passkey_is_made_and_signs_in_without_a_password(open_page: Open, user: User) -> None:
    seen = open_page("/accounts/login/?next=/settings/security/", prepare=with_authenticator)
    page = seen.page
    sign_in(page, user.email)
    page.wait_for_url("**/settings/security/")
    add_passkey(seen)
    assert len(re.findall(r"\d{8}", page.locator("#recovery_codes").input_value())) == 10
    seen.visit("/accounts/2fa/passkeys/")
    expect(page.get_by_text("signs in without a password")).to_be_visible()
    seen.assert_clean()
    page.context.clear_cookies()
    seen.visit("/accounts/login/?next=/settings/security/")
    page.locator("#passkey_login").click()
    page.wait_for_url("**/settings/security/")
    expect(page.locator("#sessions")).to_contain_text("passkey")
    seen.assert_clean()
    assert list(AuditEntry.objects.filter(action="user.passkey.add").values_list("object_id", flat=True)) == [
        user.public_id
    ]
    # and away with it: the passkey itself proves who asks
    seen.visit("/accounts/2fa/passkeys/")
    page.get_by_role("link", name="Remove laptop").click()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()
    page.get_by_role("button", name="Remove").click()
    page.wait_for_url("**/2fa/passkeys/")
    assert not Authenticator.objects.exists()
    assert AuditEntry.objects.filter(action="user.passkey.remove").count() == 1


def test_a_key_is_the_second_factor_after_the_password(open_page: Open, user: User) -> None:
    seen = open_page("/accounts/login/", prepare=with_authenticator)
    page = seen.page
    sign_in(page, user.email)
    page.wait_for_url(lambda url: url.endswith("/"))
    add_passkey(seen, passwordless=False)
    page.context.clear_cookies()
    seen.visit("/accounts/login/")
    sign_in(page, user.email)
    page.wait_for_url("**/2fa/authenticate/**")
    assert page.request.get(page.url.split("/accounts")[0] + "/api/v1/me").status == 401, (
        "the password alone is nothing"
    )
    page.locator("#mfa_webauthn_authenticate").click()
    page.wait_for_url(lambda url: url.endswith("/"))
    assert page.request.get(page.url + "api/v1/me").status == 200
    seen.assert_clean()
