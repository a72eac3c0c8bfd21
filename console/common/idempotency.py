"""Idempotency keys (IETF draft-ietf-httpapi-idempotency-key-header-07): a POST sent again happens once.

Missing key: 400. Same key with another payload: 422. The first still running: 409. Done: the stored answer, byte
for byte, with `Idempotency-Replayed: true`. A key belongs to its caller and is kept for KEEP after the answer.

Safe when the process dies in between, by one rule: the effect and its stored answer are one transaction.
A claim (`status` null) ends at `expires_at`, which is also its fence: after that a retry may take it over, and a
claimant that wakes up late finds its fence changed and is rolled back. A refusal (4xx) changed nothing, so it
gives the key back instead of being stored.

In mode "inside" no claim is needed: key and answer are stored by the transaction of the effect, whose unique key
lets one of two through. The other is rolled back and answered from the store.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from django.db import IntegrityError, transaction

from console.common import clock, sealed
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


Work = Callable[[Callable[[Answer], None]], Answer | None]
Mode = Literal["around", "inside", "after"]


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

    `work` gets a function that stores its answer. "around": `work` returns the answer, and runs in one transaction
    with the storing of it. "inside": `work` calls that function within its own, shorter transaction and returns
    nothing. "after": `work` changes nothing (a dry run), so its answer is stored when it is done; no transaction is
    held meanwhile.
    """
    if mode == "inside":
        return _run_inside(caller, key, print_, work)
    claim = _claim(caller, key, print_)
    if isinstance(claim, Answer):
        return claim
    stored: list[Answer] = []

    def store(answer: Answer) -> None:
        _store(*claim, answer)
        stored.append(answer)

    try:
        with transaction.atomic() if mode == "around" else nullcontext():
            answer = work(store)
            if answer is not None:
                store(answer)
    except Exception:
        # nothing happened, so a retry may start at once; where the database is what failed, the claim ends itself
        _give_back(*claim)
        raise
    return stored[-1]


class _Raced(Exception):
    """Another request stored this key first; ours is rolled back."""


def _run_inside(caller: str, key: str, print_: str, work: Work) -> Answer:
    found = _find(caller, key)
    if found is not None and found.expires_at > clock.now():
        return _answer_of(found, print_)
    stored: list[Answer] = []

    def store(answer: Answer) -> None:
        _store_new(caller, key, print_, answer, found)
        stored.append(answer)

    try:
        work(store)
    except _Raced:
        winner = _find(caller, key)
        if winner is None:
            raise _in_progress() from None
        return _answer_of(winner, print_)
    return stored[-1]


def _store_new(caller: str, key: str, print_: str, answer: Answer, expired: IdempotencyKey | None) -> None:
    """In the transaction of the effect. An expired row of the key makes room first, if it is still the same one."""
    if expired is not None:
        IdempotencyKey.objects.filter(pk=expired.pk, expires_at=expired.expires_at).delete()
    try:
        IdempotencyKey.objects.create(
            caller=caller,
            key=key,
            fingerprint=print_,
            status=answer.status,
            body=sealed.seal(_PURPOSE, answer.body),
            headers=answer.headers,
            expires_at=clock.now() + KEEP,
        )
    except IntegrityError as error:
        raise _Raced from error


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


def _find(caller: str, key: str) -> IdempotencyKey | None:
    return IdempotencyKey.objects.filter(caller=caller, key=key).first()


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
    stored = IdempotencyKey.objects.filter(pk=row_id, status__isnull=True, expires_at=fence).update(
        status=answer.status,
        body=sealed.seal(_PURPOSE, answer.body),
        headers=answer.headers,
        expires_at=clock.now() + KEEP,
    )
    if not stored:  # too slow: a retry took the claim over, and its effect counts, not ours
        raise _in_progress()


def _give_back(row_id: int, fence: datetime) -> None:
    IdempotencyKey.objects.filter(pk=row_id, status__isnull=True, expires_at=fence).delete()


def _in_progress() -> Conflict:
    return Conflict("the first request with this key is still running; ask again", code="request_in_progress")
