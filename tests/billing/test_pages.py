"""Pages: who may read what, what they show, and how many queries that takes."""

import csv
import io
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import openpyxl
import pytest
from django.test import Client
from django.urls import reverse

from billing.catalog.models import Price
from billing.catalog.services import seed_default_prices, set_price
from billing.invoices import services
from billing.invoices.models import Invoice
from billing.metering import services as metering
from console.common.actor import system
from pool.inventory.models import Device, Node, Outage
from tests import factories
from tests.billing import build
from tests.conftest import Actors

T0 = datetime(2026, 11, 10, 3, tzinfo=UTC)
HOUR = timedelta(hours=1)
AFTER = datetime(2026, 11, 30, 17, tzinfo=UTC)
NOVEMBER = "first=2026-11-01&last=2026-11-30"
SignIn = Callable[[str], Client]


@pytest.fixture
def sign_in(actors: Actors) -> SignIn:
    def client_of(name: str) -> Client:
        client = Client()
        client.force_login(actors.users[name])
        return client

    return client_of


@pytest.fixture
def invoice(actors: Actors, price: Price, card: Device) -> Invoice:
    project = factories.make_project(actors.a, "vision")
    project.name = "=1+1"
    project.save()
    build.interval(card, build.job(actors.a, project), T0, T0 + HOUR)
    metering.meter_closed(AFTER)
    return services.issue(actors.finance, services.refresh(actors.finance, actors.a, date(2026, 11, 1), AFTER), AFTER)


def pages(invoice: Invoice) -> list[str]:
    line = invoice.lines.get()
    one, both = [invoice.public_id], [invoice.public_id, line.public_id]
    return [
        reverse("billing:invoice_detail", args=one),
        reverse("billing:invoice_pdf", args=one),
        reverse("billing:invoice_lines_export", args=one),
        reverse("billing:invoice_line", args=both),
        reverse("billing:invoice_usage_export", args=both),
    ]


LISTS = [
    "usage",
    "usage_export",
    "usage_chart",
    "usage_records",
    "usage_records_export",
    "invoice_list",
    "invoice_export",
]


def test_the_anonymous_are_sent_to_sign_in(invoice: Invoice) -> None:
    urls = [*pages(invoice), *[reverse(f"billing:{name}") for name in (*LISTS, "price_list", "price_export")]]
    urls += [reverse("billing:usage_reconciliation"), reverse("billing:usage_reconciliation_export")]
    for url in urls:
        response = Client().get(url)
        assert response.status_code == 302, url
        assert response["Location"].startswith("/accounts/login/"), url


def test_another_tenant_finds_nothing(invoice: Invoice, sign_in: SignIn) -> None:
    stranger = sign_in("owner_b")
    for url in pages(invoice):
        assert stranger.get(url).status_code == 404, url
    for name in LISTS:
        response = stranger.get(reverse(f"billing:{name}") + f"?{NOVEMBER}&tenant=aurora")
        body = response.getvalue() if response.streaming else response.content
        assert response.status_code == 200
        for word in (b"INV-2026", b"Aurora", b"vision", b"30.00"):
            assert word not in body, (name, word)


def test_members_and_viewers_may_not_read_money(invoice: Invoice, sign_in: SignIn) -> None:
    for role in ("member_a", "viewer_a"):
        client = sign_in(role)
        for url in (*pages(invoice), *[reverse(f"billing:{name}") for name in LISTS]):
            assert client.get(url).status_code == 403, url
        assert client.get(reverse("billing:price_list")).status_code == 200


@pytest.mark.parametrize("role", ["owner_a", "billing_a", "finance", "operator", "auditor"])
def test_those_who_may_see_it_whole(invoice: Invoice, sign_in: SignIn, role: str) -> None:
    client = sign_in(role)
    for url in pages(invoice):
        assert client.get(url).status_code == 200, url
    usage = client.get(reverse("billing:usage") + f"?{NOVEMBER}&by=project").content.decode()
    assert "vision" in usage
    assert "¥ 30.00" in usage
    assert "INV-2026-000001" in client.get(reverse("billing:invoice_list")).content.decode()


def test_a_formula_stays_text_and_a_number_a_number(invoice: Invoice, sign_in: SignIn) -> None:
    client = sign_in("owner_a")
    url = reverse("billing:invoice_lines_export", args=[invoice.public_id])
    assert "1,'=1+1,H100-80GB,exclusive,1.000000," in client.get(url).getvalue().decode("utf-8-sig")
    book = openpyxl.load_workbook(io.BytesIO(client.get(url + "?format=xlsx").getvalue()))
    row = next(book.active.iter_rows(min_row=2))
    assert (row[1].value, row[1].data_type) == ("'=1+1", "s")
    assert (row[7].value, row[7].data_type) == (30, "n")
    assert client.get(url + "?format=exe").status_code == 422


def test_only_finance_sees_and_uses_what_changes_money(invoice: Invoice, sign_in: SignIn) -> None:
    asked = {"model_name": "T4", "isolation": "exclusive", "per_card_hour": "3"}
    for role in ("operator", "auditor", "owner_a", "member_a"):
        client = sign_in(role)
        assert b"Set a price" not in client.get(reverse("billing:price_list")).content
        assert client.post(reverse("billing:price_list"), asked).status_code == 403
        month = {"tenant": "aurora", "month": "2026-11"}
        assert client.post(reverse("billing:invoice_draft"), month).status_code == 403
        assert client.post(reverse("billing:invoice_issue", args=[invoice.public_id])).status_code == 403
    assert not Price.objects.filter(model_name="T4").exists()
    assert sign_in("finance").post(reverse("billing:price_list"), asked).status_code == 302
    assert Price.objects.get(model_name="T4").per_card_hour == 3


def test_finance_drafts_and_issues_from_the_page(actors: Actors, price: Price, card: Device, sign_in: SignIn) -> None:
    build.interval(card, build.job(actors.a), datetime(2026, 10, 10, tzinfo=UTC), datetime(2026, 10, 11, tzinfo=UTC))
    metering.meter_closed(AFTER)
    finance = sign_in("finance")
    page = finance.post(reverse("billing:invoice_draft"), {"tenant": "aurora", "month": "2026-10"}, follow=True)
    draft = Invoice.objects.get()
    assert "¥ 720.00" in page.content.decode()
    page = finance.post(reverse("billing:invoice_issue", args=[draft.public_id]), follow=True)
    assert re.search(r"INV-20\d\d-000001", page.content.decode()), "numbered in the year of its issue, which is now"
    page = finance.post(reverse("billing:invoice_refresh", args=[draft.public_id]), follow=True)
    assert "never changes" in page.content.decode()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("per_card_hour", "NaN"),
        ("per_card_hour", "Infinity"),
        ("per_card_hour", "-1"),
        ("per_card_hour", "1e309"),
        ("per_card_hour", "1.00000000001"),
        ("per_card_hour", "99999999"),
        ("isolation", "host"),
        ("model_name", ""),
        ("model_name", "x" * 65),
        ("model_name", "a\0b"),
        ("valid_from", "yesterday"),
        ("valid_from", "2020-01-01T00:00"),
        ("note", "x" * 201),
    ],
)
def test_bad_prices_are_named_and_change_nothing(price: Price, sign_in: SignIn, field: str, value: str) -> None:
    asked = {"model_name": "H100-80GB", "isolation": "exclusive", "per_card_hour": "3", field: value}
    response = sign_in("finance").post(reverse("billing:price_list"), asked)
    assert response.status_code == 422
    assert response.context["form"].errors[field]
    assert Price.objects.count() == 1


@pytest.mark.parametrize("month", ["2026-13", "0001-01", "1999-12", "9999-12", "NaN", "", "2026-11\0", "-1", "1e309"])
def test_a_month_that_is_none_is_named(actors: Actors, sign_in: SignIn, month: str) -> None:
    response = sign_in("finance").post(reverse("billing:invoice_draft"), {"tenant": "aurora", "month": month})
    assert response.status_code == 422
    assert b"must be a year and month such as 2026-11" in response.content
    assert not Invoice.objects.exists()


def test_a_month_that_has_not_begun_has_no_draft(actors: Actors, sign_in: SignIn) -> None:
    response = sign_in("finance").post(reverse("billing:invoice_draft"), {"tenant": "aurora", "month": "2999-12"})
    assert response.status_code == 422
    assert b"month: has not begun" in response.content
    assert not Invoice.objects.exists()


def test_the_price_list_states_the_entry_price_with_its_unit(actors: Actors, sign_in: SignIn) -> None:
    seed_default_prices(system("setup"))
    page = sign_in("member_b").get(reverse("billing:price_list")).content.decode()
    assert "Entry slice: 1/8 of a T4 card at ¥ 210.00 per month of 730 hours" in page
    assert "assumed" in page
    assert "asks another price" not in page


def test_a_scheduled_price_is_cancelled_and_one_that_holds_is_not(price: Price, sign_in: SignIn) -> None:
    later = set_price(
        system("f"), model_name="T4", isolation="vgpu", per_card_hour="2", valid_from=datetime(2099, 1, 1, tzinfo=UTC)
    )
    finance = sign_in("finance")
    assert b"2099-01-01" in finance.get(reverse("billing:price_list") + "?when=scheduled").content
    finance.post(reverse("billing:price_cancel", args=[later.public_id]))
    page = finance.post(reverse("billing:price_cancel", args=[price.public_id]), follow=True)
    assert "holds already" in page.content.decode()
    assert list(Price.objects.all()) == [price]


def test_the_reconciliation_page_names_what_differs(invoice: Invoice, sign_in: SignIn, card: Device) -> None:
    url = reverse("billing:usage_reconciliation") + "?first=2026-11-10&last=2026-11-10"
    assert "Every second is explained" in sign_in("auditor").get(url).content.decode()
    row = build.interval(card, build.job(invoice.tenant), T0 + 2 * HOUR, T0 + 3 * HOUR)
    assert row.public_id in sign_in("finance").get(url).content.decode()
    assert sign_in("owner_a").get(url).status_code == 403


def test_the_reconciliation_and_its_export_show_down_and_unusable(
    invoice: Invoice, sign_in: SignIn, card: Device
) -> None:
    Node.objects.update(created_at=T0)
    for kind, begin, end in (("unreachable", 2, 4), ("draining", 3, 7)):
        Outage.objects.create(node=card.node, kind=kind, started_at=T0 + begin * HOUR, ended_at=T0 + end * HOUR)
    days = "?first=2026-11-10&last=2026-11-10"
    client = sign_in("finance")
    response = client.get(reverse("billing:usage_reconciliation_export") + days)
    rows = list(csv.DictReader(io.StringIO(response.getvalue().decode("utf-8-sig"))))
    assert [(row["Resource"], row["Unusable"], row["Down"], row["Unexplained"]) for row in rows] == [
        ("Compute", "3.000000", "2.000000", "0.000000"),
        ("Memory", "3.000000", "2.000000", "0.000000"),
    ]
    parts = [Decimal(rows[0][name]) for name in ("Billed", "To be billed", "Idle", "Unusable", "Down")]
    assert sum(parts) == Decimal(rows[0]["Capacity × time"])
    for language, words in (("en", ("Unusable", "Down")), ("zh-hans", ("不可用", "停机"))):
        page = client.get(reverse("billing:usage_reconciliation") + days, headers={"accept-language": language})
        for word in words:
            assert f">{word}</th>" in page.content.decode()
    assert sign_in("owner_a").get(reverse("billing:usage_reconciliation_export")).status_code == 403


@pytest.mark.parametrize("name", ["usage", "usage_records", "invoice_list", "price_list"])
def test_as_many_queries_for_twenty_rows_as_for_two(
    actors: Actors,
    price: Price,
    sign_in: SignIn,
    name: str,
    django_assert_max_num_queries,  # type: ignore[no-untyped-def]
) -> None:
    counts = []
    client = sign_in("finance")
    url = reverse(f"billing:{name}") + f"?{NOVEMBER}&by=project&when=all"
    for start, stop in ((0, 2), (2, 20)):
        for i in range(start, stop):
            project = factories.make_project(actors.a, f"p{i}")
            build.interval(build.device(), build.job(actors.a, project), T0, T0 + HOUR)
            set_price(system("f"), model_name=f"M{i}", isolation="vgpu", per_card_hour="1")
            tenant = factories.make_tenant()
            build.interval(build.device(), build.job(tenant), T0, T0 + HOUR)
            metering.meter_closed(AFTER)
            services.refresh(actors.finance, tenant, date(2026, 11, 1), AFTER)
        client.get(url)
        with django_assert_max_num_queries(40) as seen:
            assert client.get(url).status_code == 200
        counts.append(len(seen))
    assert counts[0] == counts[1]
