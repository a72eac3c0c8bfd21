"""Sessions: listed, ended one by one or all others, and over when idle or open for too long."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as product
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from console import environment
from console.accounts import services
from console.accounts.models import BrowserSession
from console.accounts.policy import STATE, limits_of
from console.audit.models import AuditEntry
from console.common import clock
from console.common.errors import NotAllowed, NotFound
from console.tenants.models import User
from tests import factories
from tests.accounts.conftest import PASSWORD, code_of, give_totp, sign_in
from tests.conftest import Actors

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A clock that is moved by hand: `now.on(minutes=5)`."""

    class Hand:
        at = clock.now()

        def on(self, **more: float) -> None:
            self.at += timedelta(**more)

    hand = Hand()
    monkeypatch.setattr(clock, "now", lambda: hand.at)
    return hand


def signed_in(user: User, **more: Any) -> Client:
    client = Client(**more)
    sign_in(client, user.email)
    assert client.get("/").status_code == 200
    return client


def test_each_shows_device_address_and_how(user: User) -> None:
    secret = give_totp(user)
    client = Client(headers={"User-Agent": FIREFOX}, REMOTE_ADDR="10.4.4.4")
    sign_in(client)
    client.post("/accounts/2fa/authenticate/", {"code": code_of(secret)})
    text = client.get("/settings/security/").content.decode()
    assert "Firefox on Linux" in text
    assert "10.4.4.4" in text
    assert "this one" in text
    row = BrowserSession.objects.get()
    assert (row.user_id, row.method, row.device) == (user.pk, "password totp", FIREFOX)


def test_the_list_is_ones_own_and_exports(user: User, actors: Actors) -> None:
    signed_in(user)
    client = signed_in(actors.users["member_a"], headers={"User-Agent": "own-browser"})
    text = b"".join(client.get("/settings/security/browsers/export/?format=csv").streaming_content).decode()
    assert text.count("own-browser") == 1
    assert text.count("\n") == 2
    assert client.get("/settings/security/browsers/export/?format=pdf").status_code == 422


def test_an_ended_session_is_signed_out_at_its_next_request(user: User) -> None:
    lost, mine = signed_in(user), signed_in(user)
    row = BrowserSession.objects.get(session_id=lost.session.session_key)
    assert mine.post(f"/settings/security/browsers/{row.public_id}/end").status_code == 302
    assert lost.get("/")["Location"].startswith("/accounts/login/")
    assert lost.get("/api/v1/me").status_code == 401
    assert mine.get("/").status_code == 200
    assert AuditEntry.objects.get(action="session.end").object_id == row.public_id


def test_all_others_end_and_this_one_stays(user: User) -> None:
    others, mine = [signed_in(user) for _ in range(3)], signed_in(user)
    stranger = signed_in(factories.make_user("bob@example.test"))
    mine.post("/settings/security/browsers/end-others")
    assert [client.get("/").status_code for client in others] == [302] * 3
    assert (mine.get("/").status_code, stranger.get("/").status_code) == (200, 200)
    assert AuditEntry.objects.filter(action="session.end").count() == 3


def test_nobody_ends_anothers_but_an_operator(user: User, actors: Actors) -> None:
    theirs = signed_in(user)
    row = BrowserSession.objects.get()
    path = f"/settings/security/browsers/{row.public_id}/end"
    assert signed_in(actors.users["member_a"]).post(path).status_code == 404
    with pytest.raises(NotAllowed):
        services.end_session(actors.owner_a, row)
    assert theirs.get("/").status_code == 200
    assert signed_in(actors.users["operator"]).post(path).status_code == 302
    assert theirs.get("/").status_code == 302


def test_a_row_goes_with_its_session(user: User) -> None:
    client = signed_in(user)
    client.post("/accounts/logout/")
    assert not BrowserSession.objects.exists()
    signed_in(user)
    Session.objects.all().delete()  # as the pruning of what expired does
    assert not BrowserSession.objects.exists()


def test_a_change_of_password_ends_the_others_and_keeps_the_beginning(user: User, now: Any) -> None:
    other, mine = signed_in(user), signed_in(user)
    began = mine.session[STATE]["started"]
    now.on(minutes=5)
    new = "quite another phrase 2"
    mine.post("/accounts/password/change/", {"oldpassword": PASSWORD, "password1": new, "password2": new})
    assert other.get("/").status_code == 302
    assert mine.get("/").status_code == 200
    assert mine.session[STATE]["started"] == began, "else a change of password would make a session eternal"
    row = BrowserSession.objects.get(session_id=mine.session.session_key)
    assert row.started_at.timestamp() == pytest.approx(began)


def test_idle_for_too_long(user: User, now: Any) -> None:
    client = signed_in(user)
    idle = product.WEIR_SESSION_IDLE_MINUTES["*"]
    for _ in range(3):  # use keeps it
        now.on(minutes=idle - 1)
        assert client.get("/").status_code == 200
    now.on(minutes=idle)
    answer = client.get("/", follow=True)
    assert answer.redirect_chain[0][0].startswith("/accounts/login/")
    assert f"after {idle} minutes without activity" in answer.content.decode()
    assert '"why":"idle"' in AuditEntry.objects.get(action="session.expire").text
    assert not Session.objects.filter(pk__in=BrowserSession.objects.values("session_id")).exists()


def test_a_page_that_refreshes_itself_is_no_activity(user: User, now: Any) -> None:
    client = signed_in(user)
    idle = product.WEIR_SESSION_IDLE_MINUTES["*"]
    for minutes in (idle - 1, 1):
        now.on(minutes=minutes)
        answer = client.get("/", headers={"X-Weir-Poll": "1"})
    assert answer.status_code == 302


def test_open_for_too_long_however_busy(user: User, now: Any, settings: Any) -> None:
    settings.WEIR_SESSION_MINUTES = {"*": 90}
    settings.WEIR_SESSION_IDLE_MINUTES = {"*": 60}
    client = signed_in(user)
    now.on(minutes=45)
    assert client.get("/").status_code == 200
    now.on(minutes=45)
    assert client.get("/api/v1/me").status_code == 401
    assert '"why":"absolute"' in AuditEntry.objects.get(action="session.expire").text


def test_of_several_roles_the_shortest_counts(settings: Any) -> None:
    settings.WEIR_SESSION_IDLE_MINUTES = {"*": 100, "operator": 10, "owner": 20}
    settings.WEIR_SESSION_MINUTES = {"*": 500}
    assert limits_of({"owner", "member"}).idle == 20
    assert limits_of({"operator", "owner"}).idle == 10
    assert limits_of(set()).idle == 100


def test_use_is_noted_once_a_minute_and_nothing_is_written_between(user: User, now: Any) -> None:
    client = signed_in(user)
    with CaptureQueriesContext(connection) as seen:
        client.get("/preferences/")
    assert [query["sql"] for query in seen if not query["sql"].startswith("SELECT")] == []
    now.on(seconds=61)
    client.get("/preferences/")
    assert BrowserSession.objects.get().last_seen_at == now.at


@pytest.mark.parametrize("wrong", ["operator", "operator=x", "operator=0", "operator=30", "=5"])
def test_times_that_cannot_be_meant_are_refused(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_SESSION_IDLE_MINUTES", wrong)
    with pytest.raises(environment.BadSetting, match="WEIR_SESSION_IDLE_MINUTES"):
        environment.by_name("WEIR_SESSION_IDLE_MINUTES", "*=120")


def test_another_ones_session_is_not_found(user: User, actors: Actors) -> None:
    from console.accounts import queries

    signed_in(user)
    row = BrowserSession.objects.get()
    for name in (row.public_id, "ses_none"):
        with pytest.raises(NotFound):
            queries.session_for(actors.member_a, name)
