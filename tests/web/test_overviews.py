"""What each person's overview offers: never a door that is shut for them."""

import pytest

from tests.conftest import Actors
from tests.web.conftest import As


@pytest.mark.parametrize(
    ("who", "may"),
    [
        ("operator", True),
        ("owner_a", True),
        ("member_a", True),
        ("viewer_a", False),
        ("billing_a", False),
        ("auditor", False),
    ],
)
def test_only_who_may_submit_is_offered_it(as_: As, who: str, may: bool) -> None:
    for path in ("/", "/overview/jobs", "/jobs/"):
        assert ('href="/jobs/submit/"' in as_(who).get(path).content.decode()) == may, path


def test_finance_is_shown_money_and_not_told_to_ask_for_a_tenant(as_: As, actors: Actors) -> None:
    for path in ("/", "/overview/strip"):
        page = as_("finance").get(path).content.decode()
        assert "value-revenue" in page
        assert "belong to no tenant" not in page
        assert "Running jobs" not in page
    assert 'href="/billing/invoices/"' in as_("finance").get("/").content.decode()
