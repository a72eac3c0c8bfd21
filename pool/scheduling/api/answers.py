"""Answers that several views give."""

from typing import Any

from rest_framework import status
from rest_framework.response import Response

from pool.scheduling.api.rows import JobRow
from pool.scheduling.models import Job

_ROW = JobRow()  # building its fields takes longer than all they tell of a job


def created(job: Job, user: Any) -> Response:
    """The answer to whoever has just made this job."""
    if job.submitted_by_id == user.pk:
        job.submitted_by = user  # known already: the row would ask for it
    location = f"/api/v1/jobs/{job.public_id}"
    return Response(_ROW.to_representation(job), status=status.HTTP_201_CREATED, headers={"Location": location})
