"""Reads of the audit log, and the proof that nobody changed it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import orjson
from django.db.models import Q, QuerySet

from console.audit.models import AuditChain, AuditEntry
from console.audit.services import digest_of
from console.common.actor import Actor, PlatformRole, TenantRole
from console.common.errors import NotAllowed, NotFound

_BATCH = 2000


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """Empty or None: not filtered. `actor` is part of a label or a whole id; `obj` an id, `until` is exclusive."""

    action: str = ""
    actor: str = ""
    obj: str = ""
    object_type: str = ""
    result: str = ""
    request: str = ""
    tenant_id: int | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """The first entry of a chain that is not as it was written. `seq` counts from 1."""

    chain_id: str
    seq: int
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    entries: int
    chains: int
    faults: tuple[Fault, ...]


def may_read(actor: Actor) -> bool:
    return _reads_all(actor) or TenantRole.OWNER in actor.tenants.values()


def entries_for(actor: Actor, where: EntryFilter | None = None) -> QuerySet[AuditEntry]:
    """Operators and auditors: all; a tenant's owner: what touches that tenant. Others: NotAllowed."""
    entries = AuditEntry.objects.order_by("-pk")
    if not _reads_all(actor):
        owned = [tenant for tenant, role in actor.tenants.items() if role is TenantRole.OWNER]
        if not owned:
            raise NotAllowed("the audit log is read by operators, auditors and tenant owners")
        entries = entries.filter(tenant_id__in=owned)
    return entries.filter(_condition(where)) if where else entries


def entry_for(actor: Actor, public_id: str) -> AuditEntry:
    """Raises NotFound for an entry that is not there or not for these eyes."""
    entry = entries_for(actor).filter(public_id=public_id).first()
    if entry is None:
        raise NotFound(f"audit entry {public_id!r} was not found")
    return entry


def actions_for(actor: Actor) -> list[str]:
    """What a filter may offer: the actions that the log holds, in order."""
    return sorted(entries_for(actor).order_by().values_list("action", flat=True).distinct())


def verify(chain_id: str = "") -> Verdict:
    """Recomputes every chain, or one, and names the first bad entry of each. Reads the whole log in batches.

    Found: a changed text, column or digest, a missing, added or moved entry, and a tail cut off (the head says how
    many there were). Not found: a log that was rewritten together with its heads; that needs a seal kept elsewhere.
    """
    heads = {chain.chain_id: chain for chain in AuditChain.objects.all()}
    known = set(AuditEntry.objects.order_by().values_list("chain_id", flat=True).distinct()) | set(heads)
    if chain_id:
        known &= {chain_id}
    faults, total = [], 0
    for name in sorted(known):
        count, fault = _verify_chain(name, heads.get(name))
        total += count
        if fault is not None:
            faults.append(fault)
    return Verdict(total, len(known), tuple(faults))


def _verify_chain(name: str, head: AuditChain | None) -> tuple[int, Fault | None]:
    previous, seq = "", 0
    for entry in _entries(name):
        seq += 1
        if head is not None and seq > head.seq:
            return seq, _after_head(name, head, seq)
        reason = _wrong(entry, seq, previous)
        if reason:
            return seq, Fault(name, seq, reason)
        previous = entry.digest
    if head is None:
        return seq, Fault(name, 1, "its chain has no head")
    # read anew: a live writer may have gone on since the heads were read
    if seq < head.seq:
        return seq, Fault(name, seq + 1, f"missing: the chain ends at {seq}, its head says {head.seq}")
    if previous != head.head:
        return seq, Fault(name, seq, "the head holds another digest")
    return seq, None


def _after_head(name: str, head: AuditChain, seq: int) -> Fault | None:
    """Entries past the head are right if the head has moved on meanwhile, else they were slipped in."""
    now = AuditChain.objects.filter(chain_id=name).values_list("seq", flat=True).first()
    if now is not None and now >= seq:
        return None
    return Fault(name, seq, f"added: the head says that {head.seq} were written")


def _wrong(entry: AuditEntry, seq: int, previous: str) -> str:
    if entry.seq != seq:
        return f"missing: entry {entry.seq} follows where {seq} was expected"
    if entry.previous != previous:
        return "does not continue the entry before it"
    if entry.digest != digest_of(previous, entry.text):
        return "its text or digest was changed"
    return _column_changed(entry)


def _column_changed(entry: AuditEntry) -> str:
    """The columns repeat the hashed text for searching; a changed column would mislead a reader."""
    text = orjson.loads(entry.text)
    repeated = {
        "chain_id": text["chain"],
        "seq": text["seq"],
        "actor_kind": text["actor"]["kind"],
        "actor_id": text["actor"]["id"],
        "actor_label": text["actor"]["label"],
        "via": text["actor"]["via"],
        "tenant_id": text["tenant"],
        "action": text["action"],
        "object_type": text["object"]["type"],
        "object_id": text["object"]["id"],
        "result": text["result"],
        "request_id": text["request"],
        "address": text["address"],
    }
    for column, value in repeated.items():
        if getattr(entry, column) != value:
            return f"column {column} differs from the hashed text"
    return "" if entry.at.isoformat() == text["at"] else "column at differs from the hashed text"


def _entries(name: str) -> Iterator[AuditEntry]:
    return AuditEntry.objects.filter(chain_id=name).order_by("seq").iterator(chunk_size=_BATCH)


def _condition(where: EntryFilter) -> Q:
    found = Q()
    equal = {
        "action": where.action,
        "object_id": where.obj,
        "object_type": where.object_type,
        "result": where.result,
        "request_id": where.request,
    }
    for column, value in equal.items():
        if value:
            found &= Q(**{column: value})
    if where.actor:
        found &= Q(actor_label__icontains=where.actor) | Q(actor_id=where.actor) | Q(via=where.actor)
    if where.tenant_id is not None:
        found &= Q(tenant_id=where.tenant_id)
    if where.since is not None:
        found &= Q(at__gte=where.since)
    if where.until is not None:
        found &= Q(at__lt=where.until)
    return found


def _reads_all(actor: Actor) -> bool:
    return actor.is_operator or actor.platform_role is PlatformRole.AUDITOR
