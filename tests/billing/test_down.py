"""I3 with its last two parts: what nothing held is down, unusable or idle; and what was held is billed all the same."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from billing.catalog.models import Price
from billing.metering import services
from billing.metering.queries import reconcile
from billing.metering.queries.outages import ABSENT, DOWN, UNUSABLE, Span, flatten, within
from billing.metering.queries.reconcile import Balance
from pool.inventory.models import Device, Node, Outage
from tests import factories
from tests.billing import build

pytestmark = pytest.mark.django_db
T0 = datetime(2026, 11, 10, 3, tzinfo=UTC)
US = timedelta(microseconds=1)
HOUR = timedelta(hours=1)
H = 3_600_000_000


def out(of: Node | Device, kind: str, begin: timedelta, end: timedelta) -> None:
    owner = {"node": of} if isinstance(of, Node) else {"device": of}
    Outage.objects.create(kind=kind, started_at=T0 + begin, ended_at=T0 + end, **owner)


def parts(balance: Balance) -> tuple[Fraction, ...]:
    return balance.billed, balance.idle, balance.unusable, balance.down


def born(at: datetime = T0) -> None:
    Device.objects.update(added_at=at)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("unreachable", (0, 3 * H, 0, H)),
        ("faulty", (0, 3 * H, 0, H)),
        ("cordoned", (0, 3 * H, H, 0)),
        ("draining", (0, 3 * H, H, 0)),
    ],
)
def test_each_kind_counts_as_what_it_is(card: Device, kind: str, expected: tuple[int, ...]) -> None:
    born()
    out(card if kind == "faulty" else card.node, kind, HOUR, 2 * HOUR)
    result = reconcile(T0, T0 + 4 * HOUR)
    assert parts(result.groups[0].compute) == parts(result.groups[0].memory) == expected
    assert result.holds


def test_what_is_held_is_billed_even_while_its_node_is_out_of_reach(price: Price, card: Device) -> None:
    """Work outlives the silence of its node: the quarter that it holds is billed, the rest of the card is down."""
    born()
    build.interval(card, build.job(factories.make_tenant()), T0, T0 + 2 * HOUR, share_bp=2500)
    out(card.node, "unreachable", HOUR, 3 * HOUR)
    services.meter_closed(T0 + 4 * HOUR)
    result = reconcile(T0, T0 + 4 * HOUR)
    quarter = Fraction(H, 4)
    assert parts(result.groups[0].compute) == (2 * quarter, 7 * quarter, 0, 7 * quarter)
    assert result.holds


def test_a_drained_card_that_breaks_is_down(card: Device) -> None:
    born()
    out(card.node, "draining", timedelta(0), 4 * HOUR)
    out(card, "faulty", HOUR, 2 * HOUR)
    out(card.node, "unreachable", HOUR * 1.5, 3 * HOUR)
    assert parts(reconcile(T0, T0 + 4 * HOUR).groups[0].compute) == (0, 0, 2 * H, 2 * H)


def test_nothing_is_down_before_the_card_was_there_nor_after_the_window(card: Device) -> None:
    born(T0 + HOUR)
    Outage.objects.create(node=card.node, kind="unreachable", started_at=T0 - HOUR)
    Node.objects.update(reachable=False)
    assert parts(reconcile(T0, T0 + 2 * HOUR).groups[0].compute) == (0, 0, 0, H)
    assert parts(reconcile(T0 - 9 * HOUR, T0 + HOUR).groups[0].compute) == (0, 0, 0, 0)


def test_a_node_that_moves_takes_its_past_along(price: Price, card: Device) -> None:
    born()
    build.interval(card, build.job(factories.make_tenant()), T0, T0 + HOUR)
    services.meter_closed(T0 + HOUR)
    Node.objects.update(site=factories.make_site("cn-bj-2"))
    result = reconcile(T0, T0 + 2 * HOUR)
    assert [(group.site, parts(group.compute)) for group in result.groups] == [("cn-bj-2", (H, H, 0, 0))]
    assert result.holds


def test_a_state_that_history_does_not_know_is_named(card: Device) -> None:
    Node.objects.update(reachable=False)
    result = reconcile(T0, T0 + HOUR)
    assert [(row.kind, row.public_id) for row in result.mismatches] == [("history", card.node.public_id)]
    assert not result.holds


# -- any history, against a count of every microsecond

LENGTH = 24  # microseconds from T0
WINDOW = (3, 19)
KINDS = {"retired": ABSENT, "unreachable": DOWN, "faulty": DOWN, "cordoned": UNUSABLE, "draining": UNUSABLE}
moments = st.integers(0, LENGTH)
pairs = st.tuples(moments, moments).map(sorted)
outages = st.lists(
    st.tuples(st.sampled_from([("node", "unreachable"), ("node", "draining"), ("node", "cordoned"), (0, "faulty"),
                               (0, "cordoned"), (1, "faulty"), (1, "cordoned"),
                               (0, "retired"), (1, "retired")]), pairs),
    max_size=7,
)  # fmt: skip
# four quarters of a card never are more than the card, however they overlap
works = st.lists(st.tuples(st.integers(0, 1), pairs, st.sampled_from([100, 625, 2500])), max_size=4)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(outages=outages, works=works, births=st.tuples(moments, moments))
def test_every_microsecond_is_one_thing(outages: list[Any], works: list[Any], births: tuple[int, int]) -> None:
    with transaction.atomic():
        node = factories.make_node(devices=2)
        cards = list(node.devices.select_related("node__site", "model").order_by("index"))
        for card, birth in zip(cards, births, strict=True):
            Device.objects.filter(pk=card.pk).update(added_at=T0 + birth * US)
        for (where, kind), (begin, end) in outages:
            out(node if where == "node" else cards[where], kind, begin * US, end * US)
        tenant = factories.make_tenant()
        for index, (begin, end), share in works:
            build.interval(cards[index], build.job(tenant), T0 + begin * US, T0 + end * US, share_bp=share)
        services.meter_closed(T0 + HOUR)
        result = reconcile(T0 + WINDOW[0] * US, T0 + WINDOW[1] * US)
        expected = count(outages, works, births)
        balance = result.groups[0].compute
        assert result.holds
        assert parts(balance) == tuple(expected[name] for name in ("billed", "idle", "unusable", "down"))
        assert sum(parts(balance)) == balance.capacity == sum(expected.values()) - expected["absent"]
        memory = result.groups[0].memory
        assert sum(parts(memory)) == memory.capacity
        transaction.set_rollback(True)


def count(outages: list[Any], works: list[Any], births: tuple[int, int]) -> Counter[str]:
    """Slow and plain: what each card was in each microsecond of the window."""
    first = [min([births[card], *(a for index, (a, _), _ in works if index == card)]) for card in (0, 1)]
    found: Counter[str] = Counter()
    for card in (0, 1):
        for at in range(max(first[card], WINDOW[0]), WINDOW[1]):
            held = sum(Fraction(share, 10_000) for index, (a, b), share in works if index == card and a <= at < b)
            kinds = {kind for (where, kind), (a, b) in outages if where in ("node", card) and a <= at < b}
            ranks = {KINDS[kind] for kind in kinds}
            found["billed"] += held
            rest = "absent" if ABSENT in ranks else "down" if DOWN in ranks else "unusable" if ranks else "idle"
            found[rest] += 1 - held
    return found


spans = st.lists(
    st.tuples(moments, moments, st.sampled_from([ABSENT, DOWN, UNUSABLE])).map(lambda t: Span(*t)), max_size=8
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(spans=spans, begin=moments, end=moments)
def test_spans_are_flattened_and_measured(spans: list[Span], begin: int, end: int) -> None:
    rank = [max((span.rank for span in spans if span.begin <= at < span.end), default=0) for at in range(LENGTH)]
    flat = flatten(spans)
    assert all(a.end <= b.begin for a, b in pairwise(flat))
    measured = within(flat, begin, end)
    assert measured == tuple(rank[begin:end].count(kind) for kind in (DOWN, UNUSABLE, ABSENT))
