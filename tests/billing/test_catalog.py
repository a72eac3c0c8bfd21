"""Prices are versions: the past keeps its own, and quotes and the entry price follow the book and the settings."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError, transaction
from django.utils import translation

from billing import checks, config
from billing.catalog import entry, queries
from billing.catalog.models import Price
from billing.catalog.quotes import quote
from billing.catalog.services import seed_default_prices, set_price
from console.audit.models import AuditEntry
from console.common.actor import system
from console.common.errors import Conflict, InvalidInput, NotAllowed
from pool.scheduling.ports import QuoteItem
from tests import factories
from tests.conftest import Actors

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 10, 3, tzinfo=UTC)
DAY = timedelta(days=1)
FINANCE = system("finance")
H100 = {"model_name": "H100-80GB", "isolation": "exclusive"}


def test_a_change_adds_a_version_and_leaves_the_past(price: Price) -> None:
    set_price(FINANCE, **H100, per_card_hour="40", valid_from=NOW + DAY, now=NOW)
    timeline = queries.load(price.book).of("H100-80GB", "exclusive")
    assert [timeline.at(NOW + n * DAY).price for n in (0, 1)] == [30, 40]  # type: ignore[union-attr]
    rows = queries.prices_for(FINANCE)
    assert [(row.per_card_hour, row.valid_to) for row in rows] == [(40, None), (30, NOW + DAY)]  # type: ignore[attr-defined]


def test_the_past_is_closed_where_something_was_sold(price: Price) -> None:
    with pytest.raises(InvalidInput, match="the past keeps its price"):
        set_price(FINANCE, **H100, per_card_hour="1", valid_from=NOW - DAY, now=NOW)
    before = set_price(FINANCE, model_name="T4", isolation="vgpu", per_card_hour="1", valid_from=NOW - DAY, now=NOW)
    assert before.valid_from == NOW - DAY  # it had never been sold


def test_two_versions_from_one_instant_are_refused_by_service_and_database(price: Price) -> None:
    with pytest.raises(Conflict, match="begins at that very time"):
        set_price(FINANCE, **H100, per_card_hour="1", valid_from=price.valid_from, now=price.valid_from)
    with pytest.raises(IntegrityError), transaction.atomic():
        Price.objects.create(book=price.book, **H100, per_card_hour=1, valid_from=price.valid_from)


def test_the_database_refuses_to_edit_or_delete_a_price_that_holds(price: Price) -> None:
    with pytest.raises(IntegrityError, match="never edited"), transaction.atomic():
        Price.objects.update(per_card_hour=1)
    with pytest.raises(IntegrityError, match="holds already"), transaction.atomic():
        Price.objects.all().delete()


def test_every_digit_of_a_price_survives_the_database() -> None:
    row = set_price(FINANCE, **H100, per_card_hour="99999.9999999999", now=NOW)
    assert str(Price.objects.get(pk=row.pk).per_card_hour) == "99999.9999999999"


def test_only_finance_and_every_change_is_in_the_audit_log(actors: Actors) -> None:
    for actor in (actors.operator, actors.auditor, actors.owner_a):
        with pytest.raises(NotAllowed):
            set_price(actor, **H100, per_card_hour="1", now=NOW)
        with pytest.raises(NotAllowed):
            seed_default_prices(actor)
    set_price(actors.finance, **H100, per_card_hour="1", now=NOW)
    assert AuditEntry.objects.get(action="price.set").actor_label == "finance@example.test"


def test_seeding_twice_adds_nothing_and_touches_no_price_of_finance(price: Price) -> None:
    assert seed_default_prices(FINANCE) > 50
    assert seed_default_prices(FINANCE) == 0
    assert list(Price.objects.filter(**H100)) == [price]
    assert not Price.objects.filter(model_name="T4", isolation="mig").exists()
    assert Price.objects.filter(assumed=True).exclude(note="").count() == 0


def item(models: str, isolation: str = "exclusive", num: int = 1, den: int = 1, count: int = 1) -> QuoteItem:
    return QuoteItem(tuple(models.split()), isolation, 10_000 * num // den, num, den, count)


def test_a_quote_is_exact_and_names_what_has_no_price(price: Price) -> None:
    tenant = factories.make_tenant()
    set_price(FINANCE, model_name="H100-80GB", isolation="mig", per_card_hour="28")
    found = quote(tenant, [item("H100-80GB", count=8), item("H100-80GB", "mig", 1, 7, 2)])
    assert (found.per_hour, found.least, found.currency) == (Decimal("248.000000"), Decimal("248.000000"), "CNY")
    assert found.missing == ()
    found = quote(tenant, [item("H100-80GB"), item("T4"), item("T4")])
    assert (found.per_hour, found.least, found.missing) == (None, None, ("T4 exclusive",))


def test_a_quote_prices_the_share_that_will_be_charged() -> None:
    set_price(FINANCE, model_name="H100-80GB", isolation="vgpu", per_card_hour="30")
    half_the_memory = QuoteItem(("H100-80GB",), "vgpu", 2500, 1, 4, 1, memory_mib=40_000, device_memory_mib=80_000)
    assert quote(factories.make_tenant(), [half_the_memory]).per_hour == 15


def test_a_quote_for_several_models_goes_from_the_cheapest_to_the_dearest(price: Price) -> None:
    tenant = factories.make_tenant()
    set_price(FINANCE, model_name="T4", isolation="exclusive", per_card_hour="2")
    found = quote(tenant, [item("H100-80GB T4", count=2)])
    assert (found.least, found.per_hour, found.missing) == (4, 60, ())
    partly = quote(tenant, [item("A30 H100-80GB T4")])
    assert (partly.least, partly.per_hour, partly.missing) == (2, 30, ("A30 exclusive",))
    unknown = quote(factories.make_tenant(currency="USD"), [item("H100-80GB T4")])
    assert (unknown.per_hour, unknown.missing) == (None, ("H100-80GB exclusive", "T4 exclusive"))


def test_the_entry_price_always_names_its_unit(settings) -> None:  # type: ignore[no-untyped-def]
    assert "¥ 210.00 per month of 730 hours, which is ¥ 2.3014 per card-hour" in entry.sentence()
    settings.WEIR_ENTRY_UNIT, settings.WEIR_ENTRY_SHARE_BP = "day", 625
    assert "1/16 of a T4 card at ¥ 210.00 per day of 24 hours, which is ¥ 140.00 per card-hour" in entry.sentence()
    settings.WEIR_ENTRY_UNIT, settings.WEIR_ENTRY_SHARE_BP = "hour", 10_000
    assert "a whole T4 card at ¥ 210.00 per hour" in entry.sentence()
    with translation.override("zh-hans"):
        assert "210.00" in entry.sentence()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WEIR_ENTRY_PRICE", "NaN"),
        ("WEIR_ENTRY_PRICE", "-1"),
        ("WEIR_ENTRY_PRICE", "cheap"),
        ("WEIR_ENTRY_UNIT", "week"),
        ("WEIR_ENTRY_SHARE_BP", 0),
        ("WEIR_CURRENCY", "rmb"),
        ("WEIR_CHARGE_BASIS", "colour"),
        ("WEIR_BILLING_ZONE", "Mars/Olympus"),
    ],
)
def test_a_wrong_setting_is_named_at_the_start(settings, name: str, value: object) -> None:  # type: ignore[no-untyped-def]
    setattr(settings, name, value)
    assert [error.msg.partition(":")[0] for error in checks.settings_make_sense()] == [name]
    reader = config.entry if "ENTRY" in name else {"C": config.currency, "B": config.zone}.get(name[5])
    if name == "WEIR_CHARGE_BASIS":
        reader = config.basis
    assert reader is not None
    with pytest.raises(ImproperlyConfigured, match=name):
        reader()
