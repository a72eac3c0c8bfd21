"""The job specification: what a client sends, checked and made canonical."""

from pool.scheduling.spec.canonical import canonical, job_wishes, role_wishes
from pool.scheduling.spec.model import DeviceAsk, JobSpec, RoleSpec
from pool.scheduling.spec.parse import parse_job

__all__ = ["DeviceAsk", "JobSpec", "RoleSpec", "canonical", "job_wishes", "parse_job", "role_wishes"]
