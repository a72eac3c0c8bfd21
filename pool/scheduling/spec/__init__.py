"""The job specification: what a client sends, checked and made canonical."""

from pool.scheduling.spec.model import JobSpec, RoleSpec
from pool.scheduling.spec.parse import canonical, parse_job

__all__ = ["JobSpec", "RoleSpec", "canonical", "parse_job"]
