"""Prices and a card for billing's tests."""

from datetime import UTC, datetime

import pytest

from billing.catalog.models import Price
from billing.catalog.services import set_price
from console.common.actor import system
from pool.inventory.models import Device
from tests.billing import build

DAWN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def price(db: None) -> Price:
    """A whole H100 at ¥30 an hour."""
    return set_price(system("test"), model_name="H100-80GB", isolation="exclusive", per_card_hour="30", valid_from=DAWN)


@pytest.fixture
def card(db: None) -> Device:
    return build.device()
