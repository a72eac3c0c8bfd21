"""From a client's JSON object to a JobSpec. Bad input names every field that is wrong and changes nothing."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from console.common.errors import FieldError, InvalidInput
from pool.engine.types import Step
from pool.scheduling.spec.conditions import levels, moment, neighbours
from pool.scheduling.spec.fields import Reader
from pool.scheduling.spec.model import JobSpec, RoleSpec, Saving
from pool.scheduling.spec.roles import read_roles

KINDS = ("batch", "service", "interactive", "workflow_step")
MAX_DURATION_S = 366 * 86_400
SIGNALS = ("USR1", "USR2", "HUP", "INT", "TERM")
MAX_SAVING_S = 300  # what waits for the place gives up after ten minutes


def parse_job(data: Any) -> JobSpec:
    """Raises InvalidInput with one FieldError for each fault."""
    errors: list[FieldError] = []
    if not isinstance(data, Mapping):
        raise InvalidInput([FieldError("", _("must be a JSON object"))])
    reader = Reader(data, "", errors)
    name = reader.text("name", "", 120)
    if not name:
        reader.fail("name", _("must be given"))
    roles = read_roles(reader, errors)
    required, preferred = levels(reader, "island")
    spec = JobSpec(
        name=name,
        tenant=reader.text("tenant", "", 64),
        project=reader.text("project", "", 64),
        queue=reader.text("queue", "", 64),
        kind=reader.choice("kind", "batch", KINDS),
        command=reader.command("command"),
        environment=reader.mapping("environment", environment=True),
        labels=reader.mapping("labels", environment=False),
        roles=roles,
        min_member=_min_member(reader, roles),
        priority=reader.integer("priority", 0, -1000, 1000),
        preemptible=reader.boolean("preemptible"),
        max_duration_s=reader.integer("max_duration", 0, 1, MAX_DURATION_S) or None,
        max_retries=reader.integer("max_retries", 0, 0, 100),
        required_topology_level=required,
        preferred_topology_level=preferred,
        affinity=neighbours(reader, "affinity", False) + neighbours(reader, "anti_affinity", True),
        step=_step(reader),
        preempt_min_runtime_s=reader.integer("preempt_min_runtime", 0, 0, MAX_DURATION_S),
        start_no_earlier_than=moment(reader, "start_no_earlier_than"),
        deadline=moment(reader, "deadline"),
        checkpoint=_checkpoint(reader),
    )
    if spec.start_no_earlier_than and spec.deadline and spec.deadline <= spec.start_no_earlier_than:
        reader.fail("deadline", _("must be after start_no_earlier_than"))
    reader.unknown()
    if errors:
        raise InvalidInput(errors)
    return spec


def _min_member(reader: Reader, roles: tuple[RoleSpec, ...]) -> int:
    """Unless said otherwise a job is a gang: all replicas, or each role's minimum where one is given, or nothing."""
    least = max(1, sum(role.min_replicas for role in roles))
    return reader.integer("min_member", least, 1, max(1, sum(role.replicas for role in roles)))


def _checkpoint(reader: Reader) -> Saving | None:
    """How the job is asked to save its state before a planned stop; None: it is not."""
    if not reader.has("checkpoint"):
        return None
    if not isinstance(reader.data["checkpoint"], Mapping):
        reader.fail("checkpoint", _("must be an object of signal and grace_s"))
        return None
    child = Reader(reader.data["checkpoint"], "checkpoint.", reader.errors)
    saving = Saving(child.choice("signal", "USR1", SIGNALS), child.integer("grace_s", 60, 1, MAX_SAVING_S))
    child.unknown()
    return saving


def _step(reader: Reader) -> Step | None:
    """What a training step sends and computes, for the estimate of its communication; None: not said."""
    if not reader.has("step"):
        return None
    if not isinstance(reader.data["step"], Mapping):
        reader.fail("step", _("must be an object of gradient_bytes, compute_us and overlap_percent"))
        return None
    child = Reader(reader.data["step"], "step.", reader.errors)
    usual = Step()
    step = Step(
        gradient_bytes=child.integer("gradient_bytes", usual.gradient_bytes, 0, 2**50),
        compute_us=child.integer("compute_us", usual.compute_us, 1, 86_400_000_000),
        overlap_bp=100 * child.integer("overlap_percent", 0, 0, 100),
    )
    child.unknown()
    return step
