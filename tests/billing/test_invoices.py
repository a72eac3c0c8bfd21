"""Drafts that follow usage, numbers without a gap, and what is issued never changes."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction

from billing.catalog.models import Price
from billing.catalog.services import set_price
from billing.invoices import queries, services
from billing.invoices.models import BilledUsage, Invoice, InvoiceLine
from billing.metering import services as metering
from console.audit.models import AuditEntry
from console.common.actor import system
from console.common.errors import Conflict, NotAllowed, NotFound
from pool.inventory.models import Device
from tests import factories
from tests.billing import build
from tests.conftest import Actors

T0 = datetime(2026, 11, 10, 3, tzinfo=UTC)
HOUR = timedelta(hours=1)
NOVEMBER = date(2026, 11, 1)
AFTER = datetime(2026, 11, 30, 17, tzinfo=UTC)  # 1 December, 01:00 in Shanghai


def test_a_line_is_a_project_and_product_and_price(actors: Actors, price: Price, card: Device) -> None:
    change = T0 + HOUR
    set_price(
        system("finance"), model_name="H100-80GB", isolation="exclusive", per_card_hour="40", valid_from=change, now=T0
    )
    build.interval(card, build.job(actors.a), T0, T0 + 2 * HOUR)
    vision = factories.make_project(actors.a, "vision")
    build.interval(card, build.job(actors.a, vision), T0 + 3 * HOUR, T0 + 4 * HOUR)
    metering.meter_closed(AFTER)
    invoice = services.refresh(actors.finance, actors.a, NOVEMBER, AFTER)
    found = [(line.project_name, line.unit_price, line.card_hours, line.amount) for line in queries.lines_of(invoice)]
    assert found == [("default", 30, 1, 30), ("default", 40, 1, 40), ("vision", 40, 1, 40)]
    assert invoice.total == Decimal("110.00")


def test_a_draft_follows_usage_and_a_second_refresh_changes_nothing(actors: Actors, price: Price, card: Device) -> None:
    owner = build.job(actors.a)
    build.interval(card, owner, T0, T0 + HOUR)
    metering.meter_closed(AFTER)
    first = services.refresh(actors.finance, actors.a, NOVEMBER, AFTER)
    again = services.refresh(actors.finance, actors.a, date(2026, 11, 30), AFTER)
    assert (again.pk, again.total, again.lines.count()) == (first.pk, Decimal(30), 1)
    build.interval(card, owner, T0 + HOUR, T0 + 2 * HOUR)
    metering.meter_closed(AFTER)
    assert services.refresh(actors.finance, actors.a, NOVEMBER, AFTER).total == Decimal(60)
    assert BilledUsage.objects.count() == 2


def test_lines_drill_down_to_their_records(actors: Actors, price: Price, card: Device) -> None:
    owner = build.job(actors.a)
    build.interval(card, owner, T0, T0 + HOUR)
    build.interval(card, owner, T0 + 2 * HOUR, T0 + 5 * HOUR)
    metering.meter_closed(AFTER)
    invoice = services.refresh(actors.finance, actors.a, NOVEMBER, AFTER)
    line = queries.lines_of(invoice)[0]
    records = queries.usage_of(actors.owner_a, line)
    assert sum(record.microseconds for record in records) == line.held_microseconds == 4 * 3_600_000_000
    assert not queries.usage_of(actors.owner_b, line).exists()


def issue(actors: Actors, month: date = NOVEMBER, now: datetime = AFTER) -> Invoice:
    return services.issue(actors.finance, services.refresh(actors.finance, actors.a, month, now), now)


def test_an_issued_invoice_has_a_number_and_an_audit_entry(actors: Actors, price: Price, card: Device) -> None:
    build.interval(card, build.job(actors.a), T0, T0 + HOUR)
    metering.meter_closed(AFTER)
    invoice = issue(actors)
    assert (invoice.label, invoice.state) == ("INV-2026-000001", "issued")
    entry = AuditEntry.objects.get(action="invoice.issue")
    assert (entry.object_id, entry.tenant_id, entry.actor_label) == (
        invoice.public_id,
        actors.a.pk,
        "finance@example.test",
    )
    with pytest.raises(Conflict, match="never changes"):
        services.issue(actors.finance, invoice, AFTER)
    with pytest.raises(Conflict, match="never changes"):
        services.refresh(actors.finance, actors.a, NOVEMBER, AFTER)


def test_the_database_refuses_any_change_of_an_issued_invoice(actors: Actors, price: Price, card: Device) -> None:
    build.interval(card, build.job(actors.a), T0, T0 + HOUR)
    metering.meter_closed(AFTER)
    invoice = issue(actors)
    line = InvoiceLine.objects.get()
    changes = [
        lambda: Invoice.objects.update(total=1),
        lambda: Invoice.objects.filter(pk=invoice.pk)._raw_delete("default"),
        lambda: InvoiceLine.objects.update(amount=1),
        lambda: InvoiceLine.objects.filter(pk=line.pk)._raw_delete("default"),
        lambda: BilledUsage.objects.all()._raw_delete("default"),
        lambda: InvoiceLine.objects.create(
            **{
                field: getattr(line, field)
                for field in ("invoice", "project", "project_name", "model_name", "price", "unit_price", "exact_amount")
            },
            position=2,
            isolation="mig",
            held_microseconds=1,
            card_hours=1,
            amount=1,
        ),
    ]
    for change in changes:
        with pytest.raises(IntegrityError, match="never changes"), transaction.atomic():
            change()


def test_numbers_are_given_once_and_in_order(actors: Actors, price: Price, card: Device) -> None:
    for tenant in (actors.a, actors.b):
        build.interval(card, build.job(tenant), T0, T0 + HOUR)
    metering.meter_closed(AFTER)
    labels = [
        services.issue(actors.finance, services.refresh(actors.finance, tenant, NOVEMBER, AFTER), AFTER).label
        for tenant in (actors.a, actors.b)
    ]
    assert labels == ["INV-2026-000001", "INV-2026-000002"]


def test_a_number_of_a_failed_issue_is_given_again(
    actors: Actors, price: Price, card: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    build.interval(card, build.job(actors.a), T0, T0 + HOUR)
    metering.meter_closed(AFTER)
    draft = services.refresh(actors.finance, actors.a, NOVEMBER, AFTER)
    with monkeypatch.context() as patch:
        patch.setattr(services.audit, "record", lambda *a, **k: (_ for _ in ()).throw(RuntimeError("killed")))
        with pytest.raises(RuntimeError, match="killed"):
            services.issue(actors.finance, draft, AFTER)
    assert services.issue(actors.finance, draft, AFTER).number == 1


def test_late_usage_of_an_issued_month_goes_to_the_next(actors: Actors, price: Price, card: Device) -> None:
    row = build.interval(card, build.job(actors.a), T0)
    metering.meter_running(AFTER)
    build.interval(build.device(), build.job(actors.a), T0, T0 + HOUR)
    metering.meter_closed(AFTER)
    november = issue(actors)
    build.close(row, T0 + HOUR, known_at=AFTER + HOUR)  # its node had been lost long before
    metering.meter_closed(AFTER + HOUR)
    december = services.refresh(actors.finance, actors.a, date(2026, 12, 5), AFTER + HOUR)
    assert november.total + december.total == Decimal(60)
    assert december.total < 0


def test_usage_of_a_month_without_an_invoice_stays_in_that_month(actors: Actors, price: Price, card: Device) -> None:
    build.interval(card, build.job(actors.a), T0, T0 + HOUR)
    metering.meter_closed(AFTER)
    assert services.refresh(actors.finance, actors.a, date(2026, 12, 1), AFTER).total == 0
    assert services.refresh(actors.finance, actors.a, NOVEMBER, AFTER).total == 30


def test_what_cannot_be_issued_says_why(actors: Actors, card: Device) -> None:
    owner = build.job(actors.a)
    build.interval(card, owner, T0, T0 + HOUR)
    draft = services.refresh(actors.finance, actors.a, NOVEMBER, AFTER)
    with pytest.raises(Conflict, match="the month ends at 2026-11-30T16:00"):
        services.issue(actors.finance, draft, AFTER - 2 * HOUR)
    with pytest.raises(Conflict, match="1 intervals of that month are not metered"):
        services.issue(actors.finance, draft, AFTER)
    metering.meter_closed(AFTER)
    with pytest.raises(Conflict, match=r"1\.00 h of H100-80GB \(exclusive\) have no price"):
        services.issue(actors.finance, draft, AFTER)
    empty = services.refresh(actors.finance, actors.b, NOVEMBER, AFTER)
    with pytest.raises(Conflict, match="nothing to bill"):
        services.issue(actors.finance, empty, AFTER)


def test_a_month_with_running_work_is_whole_at_its_end(actors: Actors, price: Price, card: Device) -> None:
    build.interval(card, build.job(actors.a), datetime(2026, 11, 30, 14, tzinfo=UTC))
    draft = services.refresh(actors.finance, actors.a, NOVEMBER, AFTER)
    with pytest.raises(Conflict, match="not metered"):
        services.issue(actors.finance, draft, AFTER)
    metering.meter_running(AFTER)
    assert services.issue(actors.finance, draft, AFTER).total == 60


def test_only_finance_makes_and_issues(actors: Actors, price: Price) -> None:
    draft = services.refresh(actors.finance, actors.a, NOVEMBER, AFTER)
    for actor in (actors.operator, actors.auditor, actors.owner_a, actors.billing_a):
        with pytest.raises(NotAllowed):
            services.refresh(actor, actors.a, NOVEMBER, AFTER)
        with pytest.raises(NotAllowed):
            services.issue(actor, draft, AFTER)


def test_another_tenants_invoice_is_not_found(actors: Actors, price: Price) -> None:
    draft = services.refresh(actors.finance, actors.a, NOVEMBER, AFTER)
    assert queries.invoice_for(actors.billing_a, draft.public_id) == draft
    for actor in (actors.owner_b, actors.member_a, actors.viewer_a):
        assert not queries.invoices_for(actor).exists()
        with pytest.raises(NotFound):
            queries.invoice_for(actor, draft.public_id)
