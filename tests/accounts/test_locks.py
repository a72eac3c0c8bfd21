"""Too many failed sign-ins lock the account or the address, say so, and are opened by an operator."""

import re
import threading
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.db import connection
from django.test import Client

from console.accounts import services
from console.accounts.models import Lock
from console.audit.models import AuditEntry
from console.common import clock
from console.common.actor import Actor, ActorKind
from console.common.errors import NotAllowed
from console.tenants.models import User
from console.tenants.services import create_sign_in_link
from tests import factories
from tests.accounts.conftest import give_totp, sign_in
from tests.conftest import Actors


def guess(client: Client, times: int, **more: Any) -> Any:
    for _ in range(times):
        answer = sign_in(client, password="wrong", **more)
    return answer


def test_the_sixth_attempt_meets_a_page_that_says_how_long(user: User) -> None:
    assert guess(Client(), 5).status_code == 200
    answer = sign_in(Client(), REMOTE_ADDR="10.9.8.7")  # from anywhere, and even with the right password
    assert answer.status_code == 429
    text = answer.content.decode()
    assert "it is locked" in text
    assert "15 minutes" in text
    entry = AuditEntry.objects.get(action="auth.lock")
    assert (entry.object_type, entry.object_id) == ("account", "ada@example.test")
    assert AuditEntry.objects.filter(action="auth.login", object_type="locked account", result="refused").count() == 1


def test_an_account_that_does_not_exist_is_locked_alike(user: User) -> None:
    answers = []
    for email in ("ada@example.test", "nobody@example.test"):
        guess(Client(), 5, email=email, REMOTE_ADDR=f"10.0.0.{len(email)}")
        answers.append(sign_in(Client(), email=email, REMOTE_ADDR=f"10.0.1.{len(email)}"))
    assert [answer.status_code for answer in answers] == [429, 429]
    first, second = (re.sub(r"\w{24,}", "", answer.content.decode()) for answer in answers)
    assert first == second


def test_a_lock_ends_by_itself(user: User, live: redis.Redis) -> None:
    guess(Client(), 5)
    live.flushall()  # what allauth counts by the minute
    assert sign_in(Client()).status_code == 429, "a flush of Valkey opens nothing"
    Lock.objects.update(locked_until=clock.now() - timedelta(seconds=1))
    live.flushall()
    assert sign_in(Client())["Location"] == "/"
    assert not Lock.objects.filter(kind="account").exists()


def test_failures_long_ago_do_not_count(user: User, settings: Any) -> None:
    guess(Client(), 4)
    Lock.objects.update(since=clock.now() - timedelta(minutes=settings.WEIR_LOCK_MINUTES, seconds=1))
    guess(Client(), 1)
    assert set(Lock.objects.values_list("failures", flat=True)) == {1}
    assert not Lock.objects.filter(locked_until__isnull=False).exists()


def test_an_address_that_tries_many_accounts_is_locked(user: User, settings: Any, live: redis.Redis) -> None:
    settings.WEIR_LOCK_ADDRESS_FAILURES = 6
    for number in range(6):
        guess(Client(), 1, email=f"u{number}@example.test", REMOTE_ADDR="10.3.3.3")
    answer = sign_in(Client(), REMOTE_ADDR="10.3.3.3")
    assert (answer.status_code, "your address" in answer.content.decode()) == (429, True)
    assert sign_in(Client(), REMOTE_ADDR="10.3.3.4").status_code == 302


def test_a_link_still_signs_in_so_that_a_stranger_locks_nobody_out(user: User) -> None:
    guess(Client(), 5)
    assert Client().get(create_sign_in_link(user)).status_code == 302


def test_wrong_codes_count_as_wrong_passwords_do(user: User) -> None:
    give_totp(user)
    client = Client()
    assert sign_in(client)["Location"].startswith("/accounts/2fa/authenticate")
    for _ in range(5):
        assert client.post("/accounts/2fa/authenticate/", {"code": "000000"}).status_code == 200
    assert client.post("/accounts/2fa/authenticate/", {"code": "000000"}).status_code == 429
    assert AuditEntry.objects.filter(action="auth.second_factor", result="refused").count() == 5
    assert "_auth_user_id" not in client.session


@pytest.mark.django_db(transaction=True)
def test_of_many_guesses_at_once_none_is_uncounted_and_one_entry_tells_of_the_lock(live: redis.Redis) -> None:
    actor = Actor(kind=ActorKind.USER, ident="anonymous", label="ada@example.test", address="10.1.1.1")

    def fail() -> None:
        services.note_failure(actor)
        connection.close()

    threads = [threading.Thread(target=fail) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(Lock.objects.values_list("failures", flat=True)) == {8}
    assert AuditEntry.objects.filter(action="auth.lock").count() == 1


def test_an_operator_unlocks_and_nobody_else(actors: Actors, live: redis.Redis) -> None:
    factories.make_user("ada@example.test")
    guess(Client(), 5)
    lock = Lock.objects.get(kind="account")
    for who in (actors.auditor, actors.finance, actors.owner_a):
        with pytest.raises(NotAllowed):
            services.unlock(who, lock)
    client = Client()
    client.force_login(actors.users["operator"])
    page = client.get("/settings/access/failed/?state=locked").content.decode()
    assert "ada@example.test" in page
    assert client.post(f"/settings/access/failed/{lock.public_id}/unlock").status_code == 302
    assert not Lock.objects.filter(pk=lock.pk).exists()
    entry = AuditEntry.objects.get(action="auth.unlock")
    assert (entry.actor_label, entry.object_id) == ("operator@example.test", "ada@example.test")
    live.flushall()
    assert sign_in(Client())["Location"] == "/"


def test_the_list_filters_and_exports(actors: Actors, live: redis.Redis) -> None:
    for name in ("one", "two"):
        guess(Client(), 1, email=f"{name}@example.test", REMOTE_ADDR="10.2.2.2")
    client = Client()
    client.force_login(actors.users["auditor"])
    rows = client.get("/settings/access/failed/?format=csv&kind=account&subject=one")
    text = b"".join(rows.streaming_content).decode()
    assert ("one@example.test" in text, "two@example.test" in text, "10.2.2.2" in text) == (True, False, False)
    assert client.get("/settings/access/failed/?kind=planet").status_code == 422
    assert "Unlock" not in client.get("/settings/access/failed/").content.decode(), "auditors look"
