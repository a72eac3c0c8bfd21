"""Random histories: the invoices agree with the slow biller's to the last digit, however metering was run."""

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from billing.catalog import services as catalog
from billing.invoices import services as invoices
from billing.metering import services as metering
from billing.metering.queries import reconcile
from console.common.actor import system
from tests import factories
from tests.billing import build, slow_biller

BEGIN = datetime(2026, 2, 25, tzinfo=UTC)
END = datetime(2026, 4, 12, tzinfo=UTC)  # spans month ends and the changes of clocks of March and April
MONTHS = [date(2026, 2, 1), date(2026, 3, 1), date(2026, 4, 1)]
FINANCE = system("finance")
PRODUCTS = [("H100-80GB", "exclusive"), ("H100-80GB", "mig"), ("T4", "vgpu")]
ZONES = ["Asia/Shanghai", "America/New_York", "Europe/London", "Australia/Lord_Howe", "Asia/Kathmandu"]
US = (END - BEGIN) // timedelta(microseconds=1)

moments = st.integers(0, US).map(lambda us: BEGIN + timedelta(microseconds=us))
later = st.integers(1, US).map(lambda us: BEGIN + timedelta(microseconds=us))  # two versions never start together
amounts = st.decimals(0, 99, places=7).map(str)
# the first version holds from the beginning, so that all is priced
versions = st.tuples(amounts, st.dictionaries(later, amounts, max_size=3))
shares = {
    "exclusive": st.just(Fraction(1)),
    "mig": st.sampled_from([Fraction(1, 7), Fraction(2, 7), Fraction(3, 7)]),
    "vgpu": st.integers(1, 10_000).map(lambda bp: Fraction(bp, 10_000)),
}


@st.composite
def intervals(draw: Any) -> dict[str, Any]:
    model, isolation = draw(st.sampled_from(PRODUCTS))
    start, end = sorted([draw(moments), draw(moments)])
    share = draw(shares[isolation])
    facts = {"start": start, "end": end, "model": model, "isolation": isolation, "project": draw(st.sampled_from("ab"))}
    return {**facts, "num": share.numerator, "den": share.denominator}


histories = st.fixed_dictionaries(
    {
        "zone": st.sampled_from(ZONES),
        "prices": st.tuples(*[versions for _ in PRODUCTS]),
        "intervals": st.lists(intervals(), min_size=1, max_size=5),
        # at these moments a sweep ran while the work was still there; at the last of them nothing had closed yet
        "sweeps": st.lists(moments, max_size=3).map(sorted),
    }
)


@pytest.mark.django_db
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(history=histories)
def test_every_digit_agrees_with_the_slow_biller(history: dict[str, Any]) -> None:
    with transaction.atomic():
        agree(history)
        transaction.set_rollback(True)  # each history begins with empty books


def agree(history: dict[str, Any]) -> None:
    prices = {
        product: sorted([(BEGIN, first), *later.items()])
        for product, (first, later) in zip(PRODUCTS, history["prices"], strict=True)
    }
    for (model, isolation), chain in prices.items():
        for start, amount in chain:
            catalog.set_price(
                FINANCE, model_name=model, isolation=isolation, per_card_hour=amount, valid_from=start, now=BEGIN
            )
    tenant = factories.make_tenant(time_zone=history["zone"])
    hold(tenant, history["intervals"], history["sweeps"])
    assert invoiced(tenant) == slow_biller.bill(history["intervals"], prices, history["zone"])
    assert reconcile(BEGIN, END).holds


def hold(tenant: Any, rows: list[dict[str, Any]], sweeps: list[datetime]) -> None:
    projects = {name: factories.make_project(tenant, name) for name in "ab"}
    live = []
    for row in rows:
        card = build.device(row["model"], mig=row["isolation"] == "mig")
        share = Fraction(row["num"], row["den"])
        mig = {"mig_profile": "1g.10gb", "mig_start": 0, "mig_size": 1} if row["isolation"] == "mig" else {}
        interval = build.interval(
            card,
            build.job(tenant, projects[row["project"]]),
            row["start"],
            None,
            share_bp=max(1, int(share * 10_000)),
            compute=share,
            memory=share,
            memory_mib=max(1, int(share * card.memory_mib)),
            isolation=row["isolation"],
            **mig,
        )
        live.append((interval, row["end"]))
    for at in sweeps:
        metering.meter_running(at)
    for interval, end in live:
        build.close(interval, end, known_at=END)
    metering.meter_closed(END)


def invoiced(tenant: Any) -> dict[tuple[str, str, str, str, datetime], tuple[int, int]]:
    found = {}
    for month in MONTHS:
        invoice = invoices.refresh(FINANCE, tenant, month, END)
        for line in invoice.lines.select_related("price", "project"):
            key = (
                f"{month:%Y-%m}",
                line.project.slug,
                line.model_name,
                line.isolation,
                line.price.valid_from,
            )
            if line.held_microseconds:
                found[key] = (line.held_microseconds, int(line.amount * 100))
        assert invoice.total == sum(line.amount for line in invoice.lines.all())
    return found
