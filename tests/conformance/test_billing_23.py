"""Billing case 23 (formancehq/ledger#364): 50 parallel posts have distinct ids, and one fact posted 50 times is one."""

import pytest

from billing.ledger.models import Entry, Posting
from billing.ledger.services import move
from console.common.actor import system
from tests import factories
from tests.billing.test_concurrency import at_once

F = system("f")


@pytest.mark.django_db(transaction=True)
def test_parallel_posts_are_distinct_and_a_repeated_one_is_the_same() -> None:
    tenant = factories.make_tenant()
    results = at_once(*[lambda i=i: move(F, tenant, "payment", "1", f"bank-{i // 2}") for i in range(50)])
    assert not [result for result in results if not isinstance(result, Posting)]
    assert len({result.public_id for result in results}) == 25  # each reference twice: one posting
    assert [results[i].pk for i in range(0, 50, 2)] == [results[i].pk for i in range(1, 50, 2)]
    assert (Posting.objects.count(), Entry.objects.count()) == (25, 50)
