"""The frame of every page: sign-in, navigation, theme, language, errors."""

import re

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from console.tenants.models import User
from console.web import navigation
from tests.conftest import Actors
from tests.web.conftest import As

OPEN = {"preferences/", "healthz"}  # pages that need no sign-in, beside allauth's own and the API's


def _routes(resolver: URLResolver, prefix: str = "") -> list[str]:
    found = []
    for entry in resolver.url_patterns:
        path = prefix + str(entry.pattern)
        found += (
            _routes(entry, path) if isinstance(entry, URLResolver) else [path] if isinstance(entry, URLPattern) else []
        )
    return found


# of others, or behind a link that is the key itself
_ELSEWHERE = ("accounts/", "api/", "i18n/", "signin/", "invitation/", "static")


def test_every_page_asks_for_a_sign_in(db: None) -> None:
    client = Client()
    ours = [r for r in _routes(get_resolver()) if not r.startswith(_ELSEWHERE)]
    assert len(ours) > 20
    for route in ours:
        if route.strip("^$") in OPEN or "(?P" in route:
            continue
        path = "/" + re.sub(r"<(?:\w+:)?\w+>", "x1", re.sub(r"<int:\w+>", "1", route))
        response = client.get(path)
        assert response.status_code == 302, (path, response.status_code)
        assert response["Location"].startswith("/accounts/login/?next="), path


def test_navigation_shows_existing_rooms_to_those_who_may_enter(actors: Actors) -> None:
    def names(actor: object) -> set[str]:
        return {str(link.label) for _, links in navigation.menu_for(actor, "", {}) for link in links}  # type: ignore[arg-type]

    assert {"Overview", "Jobs", "Queues", "Usage", "Invoices", "Audit log"} <= names(actors.operator)
    assert {"Usage", "Invoices", "Audit log"} & names(actors.member_a) == set()
    assert "Usage" in names(actors.billing_a)
    assert {"Usage", "Invoices", "Prices"} <= names(actors.finance)
    assert {"Jobs", "Queues", "Nodes & devices", "Sites"} & names(actors.finance) == set(), "money, not work"
    assert "Audit log" in names(actors.owner_a)


def test_a_room_without_a_route_is_left_out(actors: Actors, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = navigation.Entry("Workflows", "workflows:list", "activity", ("workflows:",))
    monkeypatch.setattr(navigation, "MENU", (navigation.Group("Later", (entry,)),))
    assert navigation.menu_for(actors.operator, "", {}) == []


def test_the_current_page_is_marked_and_work_is_counted(as_: As) -> None:
    html = as_("operator").get(reverse("scheduling:queue_list")).content.decode()
    current = re.findall(r'<a href="([^"]+)" aria-current="page"', html)
    assert reverse("scheduling:queue_list") in current
    assert 'class="nav-count num">2<' in html  # one queue of each tenant
    devices = as_("operator").get(reverse("web:heatmap_table")).content.decode()
    assert re.findall(r'<a href="([^"]+)" aria-current="page"', devices) == [reverse("inventory:node_list")]


def test_theme_is_set_by_the_server_and_kept_on_the_account(as_: As, actors: Actors) -> None:
    client = as_("member_a")
    jobs = reverse("scheduling:job_list")
    assert "data-theme" not in client.get(jobs).content.decode()
    response = client.post(reverse("web:preferences"), {"theme": "dark", "next": jobs})
    assert response["Location"] == jobs
    assert 'data-theme="dark"' in client.get(jobs).content.decode()
    assert User.objects.get(pk=actors.users["member_a"].pk).theme == "dark"
    other_browser = as_("member_a")
    assert 'data-theme="dark"' in other_browser.get(jobs).content.decode()


def test_language_follows_the_account_in_every_browser(as_: As) -> None:
    as_("member_a").post(reverse("web:preferences"), {"language": "zh-hans"})
    assert '<html lang="zh-hans"' in as_("member_a").get(reverse("scheduling:job_list")).content.decode()


def test_language_before_sign_in_is_the_browsers(client: Client, db: None) -> None:
    client.post(reverse("web:preferences"), {"language": "zh-hans", "next": "/accounts/login/"})
    assert '<html lang="zh-hans"' in client.get("/accounts/login/").content.decode()


@pytest.mark.parametrize(
    "change", [{"theme": "pink"}, {"language": "xx"}, {"time_zone": "Mars/Base"}, {"shortcuts": "1"}]
)
def test_nonsense_preferences_change_nothing(as_: As, actors: Actors, change: dict[str, str]) -> None:
    before = User.objects.values("theme", "language", "time_zone").get(pk=actors.users["member_a"].pk)
    assert as_("member_a").post(reverse("web:preferences"), change).status_code == 422
    assert User.objects.values("theme", "language", "time_zone").get(pk=actors.users["member_a"].pk) == before


def test_next_leads_nowhere_else(as_: As) -> None:
    response = as_("member_a").post(reverse("web:preferences"), {"theme": "dark", "next": "https://evil.example/"})
    assert response["Location"] == "/"


def test_single_key_shortcuts_can_be_switched_off(as_: As) -> None:
    client = as_("member_a")
    jobs = reverse("scheduling:job_list")
    assert 'data-shortcuts="on"' in client.get(jobs).content.decode()
    client.post(reverse("web:preferences"), {"shortcuts": "off"})
    assert 'data-shortcuts="off"' in client.get(jobs).content.decode()


def test_csp_allows_no_inline_script(as_: As) -> None:
    policy = as_("member_a").get(reverse("scheduling:job_list"))["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy


def test_an_unknown_address_has_a_page(as_: As) -> None:
    response = as_("member_a").get("/jobs/job_nothere/")
    assert response.status_code == 404
    assert "Not found" in response.content.decode()


def test_a_failed_csrf_check_says_what_to_do(actors: Actors) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(actors.users["member_a"])
    response = client.post(reverse("web:preferences"), {"theme": "dark"})
    assert response.status_code == 403
    assert "Reload the page" in response.content.decode()


def test_a_fragment_never_holds_the_sign_in_page(db: None) -> None:
    response = Client().get(reverse("scheduling:job_list"), headers={"HX-Request": "true"})
    assert (response.status_code, response["HX-Refresh"]) == (204, "true")


def test_sign_in_page_says_what_is_wrong(client: Client, actors: Actors) -> None:
    response = client.post("/accounts/login/", {"login": "member@aurora.test", "password": "wrong"})
    html = response.content.decode()
    assert response.status_code == 200
    assert 'role="alert"' in html
    assert 'autocomplete="current-password"' in html  # a password manager may fill it (WCAG 3.3.8)
