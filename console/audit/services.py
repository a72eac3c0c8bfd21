"""Appends to the audit log, inside the transaction of the change that it tells of."""

import hashlib
import os
import threading
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import models, transaction

from console.audit.models import AuditChain, AuditEntry
from console.common import bulk, clock, sql
from console.common.actor import Actor
from console.common.joint import Joint

_local = threading.local()
_forgotten = 0  # how often heads were forgotten: one that was remembered before counts no more


@dataclass(frozen=True, slots=True)
class Entry:
    """One change. `before` and `after` hold only the fields that changed, as JSON values."""

    action: str
    object_type: str
    object_id: str
    tenant_id: int | None = None
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    result: str = "ok"


def record(
    actor: Actor,
    action: str,
    obj: models.Model | tuple[str, str],
    *,
    tenant_id: int | None = None,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    result: str = "ok",
) -> None:
    """One entry; `obj` is a row with `public_id`, or (type, id)."""
    kind, ident = obj if isinstance(obj, tuple) else name_of(obj)
    record_many(actor, [Entry(action, kind, ident, tenant_id, before, after, result)])


def name_of(obj: models.Model) -> tuple[str, str]:
    """("job", "job_3f…") of a row; the primary key where there is no public id."""
    return str(obj._meta.model_name), str(getattr(obj, "public_id", obj.pk))


def record_many(actor: Actor, entries: Sequence[Entry]) -> None:
    """Entries of one transaction, chained in order. Few queries however many they are."""
    if not entries:
        return
    with transaction.atomic():
        bulk.insert(prepare(actor, entries))


def prepare(actor: Actor, entries: Sequence[Entry]) -> list[AuditEntry]:
    """Advances the chain and returns the unsaved rows, for a caller that stores them with its own (`bulk.insert`).

    Call inside the transaction that stores them.
    """
    return Chain().link(actor, entries) if entries else []


class Chain:
    """This thread's chain, one transaction long, for callers that do not wait for each answer.

    Nobody else writes to it, so its head is known from the last commit; one whose fate is unknown is asked for.
    """

    def __init__(self) -> None:
        self._id = _chain_id()
        at, self._known = _local.__dict__.pop("head", (0, None))
        if self._known is None or at != _forgotten:
            self._known = None
            self._head = sql.ask("SELECT seq, head FROM audit_auditchain WHERE chain_id = %s", self._id)

    def link(self, actor: Actor, entries: Sequence[Entry], within: Joint | None = None) -> list[AuditEntry]:
        """The unsaved rows, once; at least one entry. A second writer makes the transaction fail (sql.Mismatch).

        `within`: the transaction, where it is gathered.
        """
        seq, head = self._known or self._ask()
        rows = _link(actor, entries, self._id, seq, head)
        last = (rows[-1].seq, rows[-1].digest)
        moved = (*last, self._id, seq)
        if within is None:
            sql.exactly(1, _MOVE, *moved)
        else:
            within.change(_MOVE, *moved, must=1)
        after = transaction.on_commit if within is None else within.after
        after(lambda: setattr(_local, "head", (_forgotten, last)))
        return rows

    def _ask(self) -> tuple[int, str]:
        found = self._head.rows()
        return found[0] if found else _open_chain(self._id)


_MOVE = "UPDATE audit_auditchain SET seq = %s, head = %s WHERE chain_id = %s AND seq = %s RETURNING seq"


def forget_heads() -> None:
    """Of all threads: for whoever empties the database under a running process, as tests do."""
    global _forgotten
    _forgotten += 1


def _open_chain(chain_id: str) -> tuple[int, str]:
    AuditChain.objects.create(chain_id=chain_id)
    return 0, ""


def digest_of(previous: str, text: str) -> str:
    """SHA-256 over the previous digest and the canonical text, in hex."""
    return hashlib.sha256(previous.encode() + b"\n" + text.encode()).hexdigest()


def _chain_id() -> str:
    """A chain of this thread of this process: writers never wait for each other."""
    if getattr(_local, "pid", None) != os.getpid():  # first use, or a fork carried the parent's over
        _local.pid = os.getpid()
        _local.chain = f"w-{uuid.uuid4().hex}"
        _local.__dict__.pop("head", None)
    return str(_local.chain)


def _link(actor: Actor, entries: Sequence[Entry], chain_id: str, seq: int, head: str) -> list[AuditEntry]:
    at = clock.now()
    previous, rows = head, []
    for entry in entries:
        seq += 1
        text = _canonical(actor, entry, chain_id, seq, at.isoformat())
        digest = digest_of(previous, text)
        rows.append(
            bulk.new(
                AuditEntry,
                chain_id=chain_id,
                seq=seq,
                at=at,
                actor_kind=actor.kind,
                actor_id=actor.ident,
                actor_label=actor.label,
                via=actor.via,
                tenant_id=entry.tenant_id,
                action=entry.action,
                object_type=entry.object_type,
                object_id=entry.object_id,
                result=entry.result,
                request_id=actor.request_id,
                address=actor.address,
                text=text,
                previous=previous,
                digest=digest,
            )
        )
        previous = digest
    return rows


def _canonical(actor: Actor, entry: Entry, chain_id: str, seq: int, at: str) -> str:
    body = {
        "chain": chain_id,
        "seq": seq,
        "at": at,
        "actor": {"kind": actor.kind, "id": actor.ident, "label": actor.label, "via": actor.via},
        "tenant": entry.tenant_id,
        "action": entry.action,
        "object": {"type": entry.object_type, "id": entry.object_id},
        "before": entry.before,
        "after": entry.after,
        "result": entry.result,
        "request": actor.request_id,
        "address": actor.address,
    }
    return orjson.dumps(body, option=orjson.OPT_SORT_KEYS, default=str).decode()
