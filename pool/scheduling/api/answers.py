"""Answers that several views give."""

from rest_framework import status
from rest_framework.response import Response

from pool.scheduling.api.rows import JobRow
from pool.scheduling.models import Job

_ROW = JobRow()  # building its fields takes longer than all they tell of a job


def created(job: Job) -> Response:
    location = f"/api/v1/jobs/{job.public_id}"
    return Response(_ROW.to_representation(job), status=status.HTTP_201_CREATED, headers={"Location": location})
