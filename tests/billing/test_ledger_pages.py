"""The ledger in the console and the API: what it shows, who may book, and how many queries that takes."""

import csv
import io
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from billing.ledger.models import Account, Posting
from billing.ledger.services import move
from billing.ledger.services import reverse as take_back
from console.common.actor import system
from console.tenants import services as tenants
from tests import factories
from tests.conftest import Actors

F = system("f")
SignIn = Callable[[str], Client]
ASKED = {"tenant": "aurora", "kind": "payment", "amount": "12.50", "reference": "bank-1"}


@pytest.fixture
def sign_in(actors: Actors) -> SignIn:
    def client_of(name: str) -> Client:
        client = Client()
        client.force_login(actors.users[name])
        return client

    return client_of


def url(name: str, *args: str) -> str:
    return reverse(f"billing:{name}", args=args)


def rows_of(response: object) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(response.getvalue().decode("utf-8-sig"))))  # type: ignore[attr-defined]


def test_finance_books_a_payment_and_takes_it_back(sign_in: SignIn) -> None:
    finance = sign_in("finance")
    page = finance.post(url("ledger_postings"), ASKED, follow=True).content.decode()
    posting = Posting.objects.get()
    assert "It is booked." in page
    assert page.count("¥ 12.50") == 4  # a debit, a credit and their totals
    finance.post(url("ledger_postings"), ASKED)  # sent twice
    assert Posting.objects.count() == 1
    page = finance.post(url("ledger_reverse", posting.public_id), {"memo": "=1+1"}, follow=True).content.decode()
    assert "taken back by this one" in page
    assert "taken back." in finance.get(url("ledger_posting", posting.public_id)).content.decode()
    statement = rows_of(finance.get(url("ledger_account_export", Account.objects.get(kind="cash").public_id)))
    assert [(row["Debit"], row["Credit"], row["Note"]) for row in statement] == [
        ("", "12.50", "'=1+1"),
        ("12.50", "", ""),
    ]


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("amount", "0", "must be more than nothing"),
        ("amount", "1.001", "at most 2 decimals"),
        ("amount", "NaN", "Enter a number"),
        ("kind", "invoice", "valid choice"),
        ("kind", "refund", "less than that"),
        ("reference", "", "required"),
        ("tenant", "nobody", "valid choice"),
    ],
)
def test_what_cannot_be_booked_is_named(sign_in: SignIn, field: str, value: str, says: str) -> None:
    response = sign_in("finance").post(url("ledger_postings"), ASKED | {field: value})
    assert response.status_code == 422
    assert says in response.content.decode()
    assert not Posting.objects.exists()


def test_a_statement_says_what_stood_after_each_entry(actors: Actors, sign_in: SignIn) -> None:
    for i, (kind, amount) in enumerate([("payment", "10"), ("charge", "4"), ("payment", "1")]):
        move(F, actors.a, kind, amount, f"r{i}")
    account = Account.objects.get(kind="stored_value")
    page = sign_in("billing_a").get(url("ledger_account", account.public_id))
    assert [side.stood for side in page.context["sides"]] == [700, 600, 1000]
    second = sign_in("owner_a").get(url("ledger_account", account.public_id) + "?after=" + "x")
    assert second.status_code == 422


def test_who_booked_it_is_not_told_to_tenants(actors: Actors, sign_in: SignIn) -> None:
    posting = move(actors.finance, actors.a, "payment", "1", "r")
    assert b"finance@example.test" not in sign_in("owner_a").get(url("ledger_posting", posting.public_id)).content
    assert b"finance@example.test" in sign_in("auditor").get(url("ledger_posting", posting.public_id)).content


def test_the_trial_balance_and_its_export_hold(actors: Actors, sign_in: SignIn) -> None:
    move(F, actors.a, "payment", "10", "r")
    move(F, actors.b, "grant", "3", "r")
    auditor = sign_in("auditor")
    page = auditor.get(url("ledger_trial"))
    assert "The books are right" in page.content.decode()
    assert "¥ 13.00" in page.content.decode()
    found = rows_of(auditor.get(url("ledger_trial_export") + "?tenant=boreal"))
    assert [(row["Account"], row["Debits"], row["Credits"]) for row in found] == [
        ("promotions", "3.00", "0.00"),
        ("credits", "0.00", "3.00"),
    ]
    empty = auditor.get(url("ledger_trial") + "?last=2001-01-01")
    assert "Nothing is booked yet" in empty.content.decode()
    zh = auditor.get(url("ledger_trial"), headers={"accept-language": "zh-hans"}).content.decode()
    assert "试算平衡表" in zh


def test_the_api_books_once_and_shows_it(sign_in: SignIn) -> None:
    client = sign_in("finance")
    sent = {"content_type": "application/json", "headers": {"Idempotency-Key": "k1"}}
    made = client.post("/api/v1/ledger/postings", ASKED, **sent)
    assert made.status_code == 201
    body = made.json()
    assert sorted((entry["kind"], entry["amount"]) for entry in body["entries"]) == [
        ("cash", "12.50"),
        ("stored_value", "-12.50"),
    ]
    assert client.get(made["Location"]).json() == body
    other = client.post(
        "/api/v1/ledger/postings", ASKED | {"amount": "13"}, **sent | {"headers": {"Idempotency-Key": "k2"}}
    )
    assert (other.status_code, other.json()["code"]) == (409, "posting_differs")
    rows = client.get("/api/v1/ledger/accounts?kind=stored_value").json()["results"]
    assert [(row["tenant"], row["balance"], row["grows_by"]) for row in rows] == [("aurora", "12.50", "credit")]
    assert client.get("/api/v1/ledger/trial-balance").json()["holds"]
    assert client.get("/api/v1/ledger/trial-balance?tenant=nobody").status_code == 422


@pytest.mark.parametrize("name", ["ledger_accounts", "ledger_postings", "ledger_trial"])
def test_as_many_queries_for_twenty_rows_as_for_two(
    actors: Actors,
    sign_in: SignIn,
    name: str,
    django_assert_max_num_queries,  # type: ignore[no-untyped-def]
) -> None:
    client, counts = sign_in("finance"), []
    for start, stop in ((0, 1), (1, 20)):
        for i in range(start, stop):
            posting = move(F, factories.make_tenant(), "payment", "1", f"r{i}")
        take_back(F, posting)
        client.get(url(name))
        with django_assert_max_num_queries(30) as seen:
            assert client.get(url(name)).status_code == 200
        counts.append(len(seen))
    assert counts[0] == counts[1]


def test_a_token_books_only_with_its_scope(actors: Actors) -> None:
    for scope, status in (("billing:read", 403), ("billing:write", 201)):
        _, secret = tenants.create_token(actors.finance, name=scope, scopes=[scope])
        headers = {"Authorization": f"Bearer {secret}", "Idempotency-Key": scope}
        sent = {"content_type": "application/json", "headers": headers}
        assert Client().post("/api/v1/ledger/postings", ASKED, **sent).status_code == status
