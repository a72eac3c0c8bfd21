"""Idempotency keys (IETF draft-ietf-httpapi-idempotency-key-header-07): a POST sent again happens once.

Missing key: 400. Same key with another payload: 422. The first still running: 409. Done: the stored answer, byte
for byte, with `Idempotency-Replayed: true`. A key belongs to its caller and is kept for KEEP after the answer.

Safe when the process dies in between, by one rule: the effect and its stored answer are one transaction.
A claim (`status` null) ends at `expires_at`, which is also its fence: after that a retry may take it over, and a
claimant that wakes up late finds its fence changed and is rolled back. A refusal (4xx) changed nothing, so it
gives the key back instead of being stored.

In mode "inside" no claim is needed: the effect's own transaction stores key and answer with its other rows, and
the unique key lets one of two through. The other is rolled back and answered from the store. So is one that is
refused, for what it asked for may have become impossible since it was done.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from django.db import IntegrityError, InterfaceError, OperationalError, transaction

from console.common import clock, sealed, sql
from console.common.errors import Conflict, FieldError, InvalidInput, WeirError
from console.common.models import IdempotencyKey

HEADER = "Idempotency-Key"
KEEP = timedelta(hours=24)
CLAIM = timedelta(seconds=60)  # no request runs longer than this
_PURPOSE = "idempotent answer"  # sealed at rest: the answer to "create a token" holds the token
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_BATCH = 1000


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    headers: dict[str, str]
    replayed: bool = False


Work = Callable[[], Answer]
WorkInside = Callable[[Callable[[Answer], IdempotencyKey]], None]
Mode = Literal["around", "after"]


class KeyMissing(WeirError):
    status = 400
    code = "idempotency_key_missing"

    def __init__(self) -> None:
        super().__init__(f"this request needs the header {HEADER}, for example a UUID")
        self.errors = [FieldError(HEADER, "is missing; give each new request its own, such as a UUID")]


class KeyReused(WeirError):
    status = 422
    code = "idempotency_key_reused"

    def __init__(self) -> None:
        super().__init__(f"this {HEADER} was used for another request; take a new one")
        self.errors = [FieldError(HEADER, "was used with another method, address or body")]


def read_key(headers: Mapping[str, str]) -> str:
    """The key of a request. The draft writes it as a quoted string; most clients send it bare: both are one key."""
    text = headers.get(HEADER, "").strip()
    if not text:
        raise KeyMissing()
    if len(text) >= 2 and text[0] == text[-1] == '"':
        text = text[1:-1]
    if not _KEY.fullmatch(text):
        raise InvalidInput([FieldError(HEADER, "must be 1 to 255 visible ASCII characters")])
    return text


def fingerprint(method: str, path: str, body: bytes) -> str:
    return hashlib.sha256(b"\n".join([method.encode(), path.encode(), body])).hexdigest()


def run(caller: str, key: str, print_: str, work: Work, mode: Mode = "around") -> Answer:
    """Runs `work` once for this caller and key, and answers every further call from the store.

    "around": `work` and the storing of its answer are one transaction. "after": `work` changes nothing (a dry run),
    so its answer is stored when it is done; no transaction is held meanwhile.
    """
    claim = _claim(caller, key, print_)
    if isinstance(claim, Answer):
        return claim
    try:
        with transaction.atomic() if mode == "around" else nullcontext():
            answer = work()
            _store(*claim, answer)
    except Exception:
        # nothing happened, so a retry may start at once; where the database is what failed, the claim ends itself
        _give_back(*claim)
        raise
    return answer


def run_inside(caller: str, key: str, print_: str, work: WorkInside) -> Answer:
    """Like `run`, for work with a short transaction of its own.

    `work` gets a function that makes the row of its answer, and inserts that row in its transaction.
    """
    given: list[Answer] = []

    def row(answer: Answer) -> IdempotencyKey:
        given.append(answer)
        return IdempotencyKey(caller=caller, key=key, fingerprint=print_, created_at=clock.now(), **_kept(answer))

    # a key is nearly always new: the unique key tells when it is not, and nobody waits for a look beforehand
    try:
        work(row)
    except Exception as refusal:
        found = None if isinstance(refusal, InterfaceError | OperationalError) else _find(caller, key)
        if found is None:
            raise
        if found.expires_at > clock.now():
            return _answer_of(found, print_)
        if not isinstance(refusal, IntegrityError):
            raise
        IdempotencyKey.objects.filter(pk=found.pk, expires_at=found.expires_at).delete()
        work(row)
    return given[-1]


def purge(now: datetime) -> int:
    """Deletes what has expired, in small transactions; the number deleted. Running twice changes nothing."""
    total = 0
    while True:
        ids = list(IdempotencyKey.objects.filter(expires_at__lt=now).values_list("pk", flat=True)[:_BATCH])
        if not ids:
            return total
        total += IdempotencyKey.objects.filter(pk__in=ids, expires_at__lt=now).delete()[0]


def _claim(caller: str, key: str, print_: str) -> tuple[int, datetime] | Answer:
    now = clock.now()
    fence = now + CLAIM
    try:
        with transaction.atomic():
            row = IdempotencyKey.objects.create(caller=caller, key=key, fingerprint=print_, expires_at=fence)
        return row.pk, fence
    except IntegrityError:
        found = _find(caller, key)
    if found is None:  # given back or purged in between
        raise _in_progress()
    if found.expires_at <= now:
        return _take_over(found, print_, fence)
    return _answer_of(found, print_)


_BY_KEY = sql.Reader("WHERE k.caller = %s AND k.key = %s", k=IdempotencyKey)


def _find(caller: str, key: str) -> IdempotencyKey | None:
    row = _BY_KEY.first(caller, key)
    return row[0] if row else None


def _answer_of(found: IdempotencyKey, print_: str) -> Answer:
    """What a key that is in use answers. Raises KeyReused, or Conflict while the first request runs."""
    if found.fingerprint != print_:
        raise KeyReused()
    if found.status is None:
        raise _in_progress()
    return Answer(found.status, sealed.unseal(_PURPOSE, bytes(found.body)), found.headers, replayed=True)


def _take_over(found: IdempotencyKey, print_: str, fence: datetime) -> tuple[int, datetime]:
    taken = IdempotencyKey.objects.filter(pk=found.pk, expires_at=found.expires_at).update(
        fingerprint=print_, status=None, body=b"", headers={}, expires_at=fence
    )
    if not taken:
        raise _in_progress()
    return found.pk, fence


def _store(row_id: int, fence: datetime, answer: Answer) -> None:
    mine = IdempotencyKey.objects.filter(pk=row_id, status__isnull=True, expires_at=fence)
    if not mine.update(**_kept(answer)):  # too slow: a retry took the claim over, and its effect counts, not ours
        raise _in_progress()


def _kept(answer: Answer) -> dict[str, Any]:
    return {
        "status": answer.status,
        "body": sealed.seal(_PURPOSE, answer.body),
        "headers": answer.headers,
        "expires_at": clock.now() + KEEP,
    }


def _give_back(row_id: int, fence: datetime) -> None:
    IdempotencyKey.objects.filter(pk=row_id, status__isnull=True, expires_at=fence).delete()


def _in_progress() -> Conflict:
    return Conflict("the first request with this key is still running; ask again", code="request_in_progress")
