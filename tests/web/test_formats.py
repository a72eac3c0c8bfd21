"""Amounts in words."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils.translation import override

from console.common import formats


@pytest.mark.parametrize(
    ("points", "text"),
    [
        (10_000, "1 card"),
        (40_000, "4 cards"),
        (25_000, "2.50 cards"),
        (1_250, "1/8 card"),
        (625, "1/16 card"),
        (100, "1 % of a card"),
        (3_300, "33 % of a card"),
        (0, "no GPU"),
        (None, "no limit"),
    ],
)
def test_share(points: int | None, text: str) -> None:
    assert formats.share(points) == text


@pytest.mark.parametrize(
    ("mib", "text"), [(512, "512 MiB"), (1024, "1 GiB"), (1536, "1.5 GiB"), (81_559, "79.6 GiB"), (2**21, "2,048 GiB")]
)
def test_memory(mib: int, text: str) -> None:
    assert formats.memory(mib) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.31, "310 ms"),
        (42, "42 s"),
        (61, "1 min 1 s"),
        (22_320, "6 h 12 min"),
        (1_641_600 + 7_200, "19 d 2 h"),
        (-3, "0 ms"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert formats.duration(timedelta(seconds=seconds)) == text


def test_money_groups_in_threes_in_both_languages() -> None:
    for language in ("en", "zh-hans"):
        with override(language):
            assert formats.money(Decimal("48215.6"), "CNY") == "¥ 48,215.60"
    assert formats.money(Decimal("-3"), "XAU") == "−XAU 3.00"


@pytest.mark.parametrize(("amount", "text"), [("12.5", "¥ 12.50"), ("0.28125", "¥ 0.28125"), ("100", "¥ 100.00")])
def test_rate_keeps_the_decimals_it_has(amount: str, text: str) -> None:
    assert formats.rate(Decimal(amount), "CNY") == text
