"""Pruning deletes what has expired and nothing else, however often it runs."""

from datetime import timedelta

from django.contrib.sessions.models import Session

from console.common import clock
from console.common.models import IdempotencyKey
from console.common.tasks import prune


def test_only_what_has_expired_goes(db: None) -> None:
    now = clock.now()
    for name, age in {"old": -1, "new": 1}.items():
        at = now + timedelta(hours=age)
        IdempotencyKey.objects.create(caller="user:1", key=name, fingerprint="f", expires_at=at)
        Session.objects.create(session_key=name, session_data="", expire_date=at)
    assert prune() == 1
    assert prune() == 0
    assert [row.key for row in IdempotencyKey.objects.all()] == ["new"]
    assert [row.session_key for row in Session.objects.all()] == ["new"]
