"""Answers that several views give."""

from rest_framework import status
from rest_framework.response import Response

from pool.scheduling.api.rows import JobRow
from pool.scheduling.models import Job


def created(job: Job) -> Response:
    location = f"/api/v1/jobs/{job.public_id}"
    return Response(JobRow(job).data, status=status.HTTP_201_CREATED, headers={"Location": location})
