"""From our sign-in page to a real OpenID provider and back, in a real browser, under our own content policy."""

from pathlib import Path
from typing import Any

import redis
from django.conf import settings as product
from playwright.sync_api import expect

from console.accounts.services import providers
from console.common.actor import system
from console.tenants.models import Membership
from tests import factories
from tests.browser.conftest import Open
from tests.identity.running import CLIENT, PASSWORD, SECRET, running


def test_sign_in_with_the_company(open_page: Open, server: str, settings: Any, tmp_path: Path) -> None:
    redis.Redis.from_url(product.REDIS_URL).flushall()
    settings.WEIR_OUTBOUND_PRIVATE = True
    operator = system("test")
    tenant = factories.make_tenant("aurora")
    with running(tmp_path) as identity:
        made = providers.create_provider(
            operator,
            None,
            secret=SECRET,
            name="Aurora Corp",
            issuer=identity.issuer,
            client_id=CLIENT,
            domains=["aurora.example"],
        )
        providers.map_group(operator, made, "researchers", "member", tenant)
        identity.client(f"{server}/accounts/oidc/{made.public_id}/login/callback/")
        identity.person("ada@aurora.example", "researchers")
        seen = open_page("/accounts/login/?next=/jobs/submit/")
        page = seen.page
        page.get_by_role("link", name="Sign in with Aurora Corp").click()
        page.wait_for_url(f"{identity.issuer}/**")
        page.get_by_label("Email").fill("ada@aurora.example")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign In").click()
        page.get_by_role("button", name="Authorize").click()
        page.wait_for_url(f"{server}/jobs/submit/")
        expect(page.locator("summary .account-name")).to_have_text("ada@aurora.example")
        assert Membership.objects.get(user__email="ada@aurora.example").role == "member"
        seen.visit("/settings/security/")
        expect(page.get_by_text("You sign in through Aurora Corp")).to_be_visible()
        # and not at the provider: the person is told and nobody is signed in
        page.get_by_label("Account").click()
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url(f"{server}/**")
        page.goto(f"{server}/accounts/oidc/{made.public_id}/login/")
        page.get_by_role("button", name="Cancel").click()
        page.wait_for_url(f"{server}/accounts/login/")
        expect(page.get_by_text("it was stopped at the provider")).to_be_visible()
        assert page.request.get(f"{server}/api/v1/me").status == 401
        assert seen.violations() == []
