"""A log that somebody changed is found out, and the first bad entry is named."""

from collections.abc import Callable

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from console.audit.models import AuditChain, AuditEntry
from console.audit.queries import Fault, verify
from console.audit.services import Entry, record_many
from console.common.actor import system
from tests.tampering import without_triggers

ACTOR = system("test")


@pytest.fixture
def chain(db: None) -> str:
    record_many(ACTOR, [Entry("test.do", "thing", f"t{number}", after={"n": number}) for number in range(5)])
    return AuditEntry.objects.order_by("-pk").values_list("chain_id", flat=True)[0]


def test_an_honest_log_verifies(chain: str) -> None:
    verdict = verify(chain)
    assert (verdict.entries, verdict.chains, verdict.faults) == (5, 1, ())
    call_command("verify_audit")


def _flip(chain: str) -> None:
    entry = AuditEntry.objects.get(chain_id=chain, seq=3)
    AuditEntry.objects.filter(pk=entry.pk).update(text=entry.text.replace('"n":2', '"n":9'))


def _column(chain: str) -> None:
    AuditEntry.objects.filter(chain_id=chain, seq=3).update(actor_label="somebody else")


def _drop(chain: str) -> None:
    AuditEntry.objects.filter(chain_id=chain, seq=3).delete()


def _swap(chain: str) -> None:
    third, fourth = AuditEntry.objects.filter(chain_id=chain, seq__in=[3, 4]).order_by("seq")
    AuditEntry.objects.filter(pk=third.pk).update(seq=99)
    AuditEntry.objects.filter(pk=fourth.pk).update(seq=3)
    AuditEntry.objects.filter(pk=third.pk).update(seq=4)


def _cut_tail(chain: str) -> None:
    AuditEntry.objects.filter(chain_id=chain, seq__gte=3).delete()


def _head(chain: str) -> None:
    AuditChain.objects.filter(chain_id=chain).update(seq=2)


@pytest.mark.parametrize(
    ("tamper", "reason"),
    [
        (_flip, "its text or digest was changed"),
        (_column, "column actor_label differs from the hashed text"),
        (_drop, "missing: entry 4 follows where 3 was expected"),
        (_swap, "does not continue the entry before it"),
        (_cut_tail, "missing: the chain ends at 2, its head says 5"),
        (_head, "added: the head says that 2 were written"),
    ],
)
def test_tampering_is_located(chain: str, tamper: Callable[[str], None], reason: str) -> None:
    with without_triggers(connection, "audit_auditentry"):
        tamper(chain)
    assert verify(chain).faults == (Fault(chain, 3, reason),)
    with pytest.raises(CommandError, match="do not verify"):
        call_command("verify_audit", chain=chain)


def test_a_chain_without_its_head_is_found(chain: str) -> None:
    AuditChain.objects.filter(chain_id=chain).delete()
    assert verify(chain).faults == (Fault(chain, 1, "its chain has no head"),)
