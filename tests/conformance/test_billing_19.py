"""Billing case 19 (QuantumNous/new-api#5690): balance 1000, 50 concurrent charges of 100: 10 pass, 40 are refused."""

import pytest

from billing.ledger import queries
from billing.ledger.models import Account, Posting
from billing.ledger.services import move
from console.common.actor import system
from console.common.errors import Conflict
from tests import factories
from tests.billing.test_concurrency import at_once

F = system("f")


@pytest.mark.django_db(transaction=True)
def test_exactly_ten_of_fifty_pass() -> None:
    tenant = factories.make_tenant()
    move(F, tenant, "payment", "1000", "bank-1")
    results = at_once(*[lambda i=i: move(F, tenant, "charge", "100", f"use-{i}") for i in range(50)])
    passed = [result for result in results if isinstance(result, Posting)]
    refused = [result for result in results if isinstance(result, Conflict) and result.code == "balance_too_low"]
    assert (len(passed), len(refused)) == (10, 40)
    left = {row.kind: row.balance for row in Account.objects.all()}
    assert left == {"cash": 100_000, "stored_value": 0, "earned": -100_000}
    assert queries.trial_balance().holds
