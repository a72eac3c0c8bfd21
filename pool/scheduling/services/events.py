"""Timeline lines. Kinds are words that the job page translates."""

from datetime import datetime
from typing import Any

from pool.scheduling.models import Job, JobEvent


def note(job: Job, at: datetime, kind: str, actor_label: str = "", **params: Any) -> None:
    JobEvent.objects.create(job=job, at=at, kind=kind, params=params, actor_label=actor_label)
