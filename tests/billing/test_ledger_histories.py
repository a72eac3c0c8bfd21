"""Random histories of movements, replays and reversals against a model of plain integers."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from billing.invoices import booking
from billing.ledger import queries
from billing.ledger.models import Account, Posting
from billing.ledger.services import move, reverse
from console.common.actor import system
from console.common.errors import Conflict
from tests import factories
from tests.billing.depth import examples

F = system("f")
# debit, credit; written down again here, so that a change of the chart is noticed
MOVES = {
    "payment": ("cash", "stored_value"),
    "refund": ("stored_value", "cash"),
    "grant": ("promotions", "credits"),
    "withdraw": ("credits", "promotions"),
    "charge": ("stored_value", "earned"),
    "prepay": ("stored_value", "deferred"),
    "earn": ("deferred", "earned"),
    "lapse": ("stored_value", "breakage"),
}
NEVER_BELOW = ("stored_value", "credits", "deferred")
STEP = st.tuples(st.sampled_from([*MOVES, "reverse", "again"]), st.integers(1, 500), st.integers(0, 30))


def apply(model: Counter[str], entries: dict[str, int]) -> bool:
    """False where it would leave less than nothing."""
    after = Counter(model)
    for account, amount in entries.items():
        after[account] += amount
    if any(after[account] > 0 for account in NEVER_BELOW):
        return False
    model.clear()
    model.update(after)
    return True


@pytest.mark.django_db
@settings(max_examples=examples(12, 400), deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(STEP, max_size=25))
def test_balances_are_those_of_the_model(steps: list[tuple[str, int, int]]) -> None:
    tenant = factories.make_tenant()
    model: Counter[str] = Counter()
    done: list[tuple[Posting, dict[str, int], Any]] = []
    reversed_: set[int] = set()
    for number, (kind, amount, which) in enumerate(steps):
        if kind in MOVES:
            debit, credit = MOVES[kind]
            entries = {debit: amount, credit: -amount}
            facts = (kind, f"{amount // 100}.{amount % 100:02}", f"r{number}")
            if apply(model, entries):
                done.append((move(F, tenant, *facts), entries, facts))
            else:
                with pytest.raises(Conflict):
                    move(F, tenant, *facts)
        elif done:
            posting, entries, facts = done[which % len(done)]
            opposite = {account: -amount for account, amount in entries.items()}
            if kind == "again":
                assert move(F, tenant, *facts) == posting
            elif posting.pk in reversed_:
                assert reverse(F, posting) == posting.reversed_by
            elif apply(model, opposite):
                reverse(F, posting)
                reversed_.add(posting.pk)
            else:
                with pytest.raises(Conflict):
                    reverse(F, posting)
    kept = {row.kind: row.balance for row in Account.objects.filter(tenant=tenant)}
    assert {kind: amount for kind, amount in kept.items() if amount} == {k: v for k, v in model.items() if v}
    assert not list(booking.every_fault())
    assert queries.trial_balance(tenant=tenant).holds
