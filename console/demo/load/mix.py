"""The next job: whose, what, how long, and how it will end."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from console.demo.load.shapes import SHAPES, Shape, resources
from console.demo.load.tasks import Task
from console.demo.people import TENANTS, DemoTenant, email

MEAN_CARDS: Final = 7.8  # of a job of this mix; tests/demo/test_mix.py measures it
_FAILS, _IS_CANCELLED, _RUNS_OVER = 0.05, 0.04, 0.03  # parts of all jobs
_SAVES_S: Final = 120
_WORKERS: Final = {"owner", "member"}


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job to submit as `person` (e-mail). `cancel_after`: seconds from now; None: left alone."""

    person: str
    spec: dict[str, Any]
    cancel_after: float | None


def arrival(rng: Random, trace: Sequence[Task], number: int) -> Arrival:
    """`number` makes names differ. The same generator state gives the same job."""
    tenant = rng.choices(TENANTS, [tenant.share for tenant in TENANTS])[0]
    shape = rng.choices(SHAPES, [shape.weight for shape in SHAPES])[0]
    task = rng.choice(trace)
    person = rng.choice([name for name, role in tenant.people if role in _WORKERS])
    spec: dict[str, Any] = {
        "name": rng.choice(shape.names).format(n=number),
        "tenant": tenant.slug,
        "project": rng.choice(tenant.projects)[0],
        "queue": _queue(tenant, shape, rng),
        "kind": "service" if shape.kind == "mig" else "batch",
        "command": list(shape.command),
        "labels": {"demo": "true", "shape": shape.kind},
        "priority": rng.choices((0, 10, 50, -10), (80, 10, 4, 6))[0],
        **resources(shape, task, rng),
    }
    cancel_after = _end(spec, task, rng)
    if number % 2 and shape.kind != "mig" and float(spec["environment"]["WEIR_SIM_SECONDS"]) > _SAVES_S:
        # long work that saves what it has done may make way and move
        spec |= {"preemptible": True, "checkpoint": {"signal": "USR1", "grace_s": 60}}
        spec["environment"]["WEIR_SIM_CHECKPOINT_S"] = str(_SAVES_S)
    return Arrival(email(person, tenant.slug), spec, cancel_after)


def _queue(tenant: DemoTenant, shape: Shape, rng: Random) -> str:
    """The queue that suits the work where the tenant has it, else any, the widest most often."""
    queues = [queue for queue in tenant.queues if queue.loaded]
    names = [queue.name for queue in queues]
    if shape.queue in names:
        return shape.queue
    return rng.choices(names, [queue.limit or 1.0 for queue in queues])[0]


def _end(spec: dict[str, Any], task: Task, rng: Random) -> float | None:
    """Writes into the spec how long the simulated run lasts and how it ends."""
    seconds: float = task.seconds * rng.uniform(0.8, 1.2)
    fate = rng.random()
    environment: dict[str, str] = {}
    cancel_after = None
    if fate < _FAILS:
        seconds *= rng.uniform(0.05, 0.9)
        environment["WEIR_SIM_EXIT"] = rng.choice(("1", "137"))
        spec["max_retries"] = rng.choice((0, 0, 1))
    elif fate < _FAILS + _IS_CANCELLED:
        cancel_after = seconds * rng.uniform(0.2, 0.8)
    elif fate < _FAILS + _IS_CANCELLED + _RUNS_OVER:
        spec["max_duration"] = max(10, int(seconds * rng.uniform(0.4, 0.8)))
    elif rng.random() < 0.3:
        spec["max_duration"] = int(seconds * 2) + 60
    environment["WEIR_SIM_SECONDS"] = f"{max(5.0, seconds):.1f}"
    spec["environment"] = environment
    return cancel_after
