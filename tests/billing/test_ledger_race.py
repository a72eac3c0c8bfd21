"""An entry that slips in between another transaction's posting and its commit."""

from datetime import UTC, datetime
from threading import Event, Thread

import pytest
from django.db import IntegrityError, connection, transaction

from billing.ledger.models import Account, Entry, Posting
from console.tenants.models import Tenant
from tests import factories

T0 = datetime(2026, 11, 10, tzinfo=UTC)


def book(tenant: Tenant, cash: Account, stored: Account) -> None:
    Entry.objects.bulk_create([Entry(posting_id=99, account=a, amount=n) for a, n in ((cash, 5), (stored, -5))])
    Posting.objects.create(id=99, key="k", digest="d", kind="payment", tenant=tenant, currency="CNY", at=T0)


@pytest.mark.django_db(transaction=True)
def test_it_is_found_when_it_commits() -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    tenant = factories.make_tenant()
    kinds = ("cash", "stored_value", "promotions")
    cash, stored, third = (Account.objects.create(tenant=tenant, kind=kind, currency="CNY") for kind in kinds)
    slipped, committed, refused = Event(), Event(), []

    def slip_in() -> None:
        try:
            with transaction.atomic():
                Entry.objects.create(posting_id=99, account=third, amount=7)  # sees no posting yet
                slipped.set()
                assert committed.wait(20)
        except IntegrityError as error:
            refused.append(str(error))
        finally:
            connection.close()

    other = Thread(target=slip_in)
    other.start()
    assert slipped.wait(20)
    with transaction.atomic():
        book(tenant, cash, stored)
    committed.set()
    other.join(20)
    assert "debits equal its credits" in refused[0]
    assert Entry.objects.count() == 2
