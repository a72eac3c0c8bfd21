"""Billing case 21 (envato/double_entry#114): two concurrent debits on an account that may not go below zero."""

import pytest

from billing.ledger.models import Account, Posting
from billing.ledger.services import move
from console.common.actor import system
from tests import factories
from tests.billing.test_concurrency import at_once

F = system("f")


@pytest.mark.django_db(transaction=True)
def test_the_second_of_two_finds_the_balance_spent() -> None:
    tenant = factories.make_tenant()
    move(F, tenant, "grant", "10", "goodwill")
    results = at_once(*[lambda i=i: move(F, tenant, "withdraw", "6", f"back-{i}") for i in range(2)])
    assert [isinstance(result, Posting) for result in results].count(True) == 1
    assert Account.objects.get(kind="credits").balance == -400
