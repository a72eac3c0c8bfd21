"""Pieces, shares, amounts: the pure core."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest

from billing.rating.amounts import (
    US_PER_HOUR,
    card_hours,
    exact_amount,
    largest_remainder,
    money,
    round_half_up,
)
from billing.rating.calendar import zone_of
from billing.rating.pieces import Timeline, Version, cut
from billing.rating.shares import Basis, Held, charged

SHANGHAI = zone_of("Asia/Shanghai")
T0 = datetime(2026, 11, 30, 15, tzinfo=UTC)  # 23:00 on the last day of November in Shanghai


def timeline(*prices: tuple[datetime, str | None]) -> Timeline:
    return Timeline(tuple(Version(i, at, None if p is None else Decimal(p)) for i, (at, p) in enumerate(prices, 1)))


def test_pieces_cover_the_time_and_end_at_each_edge() -> None:
    change = T0 + timedelta(minutes=30, microseconds=1)
    pieces = cut(T0, T0 + timedelta(hours=2), timeline((T0 - timedelta(days=1), "10"), (change, "20")), SHANGHAI)
    assert [(p.starts_at - T0, p.day, p.version.price) for p in pieces if p.version] == [
        (timedelta(0), date(2026, 11, 30), 10),
        (timedelta(minutes=30, microseconds=1), date(2026, 11, 30), 20),
        (timedelta(hours=1), date(2026, 12, 1), 20),
    ]
    assert sum(p.microseconds for p in pieces) == 2 * US_PER_HOUR
    assert all(a.ends_at == b.starts_at for a, b in pairwise(pieces))


def test_cutting_in_two_steps_gives_the_same_pieces() -> None:
    prices = timeline((T0, "1"), (T0 + timedelta(hours=3), "2"))
    whole = cut(T0, T0 + timedelta(days=3), prices, SHANGHAI)
    edge = whole[1].ends_at
    assert cut(T0, edge, prices, SHANGHAI) + cut(edge, T0 + timedelta(days=3), prices, SHANGHAI) == whole


def test_time_before_the_first_price_and_after_the_last_has_none() -> None:
    prices = timeline((T0 + timedelta(minutes=10), "1"), (T0 + timedelta(minutes=20), None))
    pieces = cut(T0, T0 + timedelta(minutes=30), prices, SHANGHAI)
    assert [p.version is not None for p in pieces] == [False, True, False]


def test_no_time_gives_no_piece() -> None:
    assert cut(T0, T0, Timeline(), SHANGHAI) == []


def test_two_versions_cannot_begin_at_once() -> None:
    with pytest.raises(ValueError, match="no two from the same instant"):
        timeline((T0, "1"), (T0, "2"))


@pytest.mark.parametrize(
    ("basis", "expected"),
    [(Basis.COMPUTE, Fraction(1, 7)), (Basis.MEMORY, Fraction(9984, 81559)), (Basis.LARGER, Fraction(1, 7))],
)
def test_a_mig_slice_has_two_shares(basis: Basis, expected: Fraction) -> None:
    held = Held(Fraction(1, 7), memory_mib=9984, device_memory_mib=81559)
    assert charged(held, basis) == expected


def test_memory_counts_only_beyond_what_the_compute_share_brings() -> None:
    quarter = Held(Fraction(1, 4), memory_mib=20390, device_memory_mib=81559)
    assert charged(quarter, Basis.LARGER) == Fraction(1, 4)
    more = Held(Fraction(1, 4), memory_mib=20391, device_memory_mib=81559)
    assert charged(more, Basis.LARGER) == Fraction(20391, 81559)
    # a double-memory slice: 1/7 of the compute, a quarter of the memory
    assert charged(Held(Fraction(1, 7), 20096, 81559), Basis.LARGER) == Fraction(20096, 81559)


def test_one_rounding_of_a_month_of_an_eighth() -> None:
    """¥31.25 x 1/8 x 720 h = ¥2,812.50; rounded hour by hour it would be ¥2,815.20."""
    amount = exact_amount(Decimal("31.25"), Fraction(1, 8), 720 * US_PER_HOUR)
    assert money(amount, "CNY") == Decimal("2812.50")


@pytest.mark.parametrize(
    ("value", "places", "expected"),
    [
        ("0.125", 2, "0.13"),
        ("-0.125", 2, "-0.13"),
        ("0.01999999999999999872", 2, "0.02"),
        ("0.999", 2, "1.00"),
        ("163.725", 2, "163.73"),
        ("2.5", 0, "3"),
    ],
)
def test_halves_go_away_from_zero(value: str, places: int, expected: str) -> None:
    assert str(round_half_up(Fraction(value), places)) == expected


def test_digits_follow_the_currency() -> None:
    assert str(money(Fraction("1.5"), "JPY")) == "2"
    assert str(money(Fraction("1.0005"), "KWD")) == "1.001"


@pytest.mark.parametrize(
    ("total", "weights", "expected"),
    [
        ("100.00", [1, 1, 1], ["33.34", "33.33", "33.33"]),
        ("0.05", [3, 7], ["0.02", "0.03"]),
        ("0.01", [1, 1], ["0.01", "0.00"]),
        ("-0.05", [3, 7], ["-0.02", "-0.03"]),
    ],
)
def test_parts_add_up(total: str, weights: list[int], expected: list[str]) -> None:
    parts = largest_remainder(Decimal(total), weights, 2)
    assert [str(part) for part in parts] == expected
    assert sum(parts) == Decimal(total)


def test_what_cannot_be_split_is_named() -> None:
    with pytest.raises(ValueError, match=r"total: 0\.001 has more than 2 decimals"):
        largest_remainder(Decimal("0.001"), [1], 2)
    with pytest.raises(ValueError, match="weights"):
        largest_remainder(Decimal("1"), [0, 0], 2)


def test_card_hours_of_three_thirds() -> None:
    assert str(card_hours(Fraction(1, 3) * US_PER_HOUR)) == "0.333333"
