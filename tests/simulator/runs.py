"""One run: a busy minute with faults, then calm until everything has settled."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from django.db import connection

from console.audit import services as audit
from console.common import clock, joint
from pool.scheduling import admission, services, wake
from tests import flush
from tests.simulator import checks
from tests.simulator.faults import Faults, install
from tests.simulator.world import World

LABELS = ("submit", "schedule", "start", "stop", "started", "exited", "report", "connect", "cancel", "lose")
POINTS = tuple(
    (f"{label}.{kind}", moment)
    for label, kind in (
        *((label, "commit") for label in LABELS),
        ("requeue", "commit"),
        ("submit", "publish"),
        ("schedule", "publish"),
        ("exited", "publish"),
        ("cancel", "publish"),
        ("requeue", "publish"),
        ("lose", "publish"),
        ("start", "call"),
        ("stop", "call"),
        ("started", "news"),
        ("exited", "news"),
    )
    for moment in ("before", "after")
)


@contextmanager
def fresh_database(template: Path) -> Iterator[None]:
    """An empty, migrated database whose commits are real: a copy of `template`, or all tables emptied."""
    audit.forget_heads()
    if connection.vendor != "sqlite":
        yield
        flush.empty()
        return
    original = connection.settings_dict["NAME"]
    copy = template.with_name("run.sqlite3")
    shutil.copyfile(template, copy)
    connection.close()
    connection.settings_dict["NAME"] = str(copy)
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = original
        for leftover in template.parent.glob("run.sqlite3*"):
            leftover.unlink()


def run(seed: int, plan: dict[tuple[str, str], int]) -> Faults:
    """Raises AssertionError, with the seed and plan that replay it, on any violation."""
    faults = Faults()
    admission.shared.__init__()  # type: ignore[misc]
    world = World(seed, faults)
    with mock.patch.object(clock, "now", world.clock), mock.patch.object(wake, "_send", world.publish):
        with ExitStack() as stack:
            for place, name in ((connection, "commit"), (joint, "_seal"), (joint, "_tell")):
                stack.enter_context(mock.patch.object(place, name, getattr(place, name)))
            install(faults, setattr)
            world.tick(0.1)
            faults.plan = plan
            faults.seen.clear()
            try:
                _busy(world)
                faults.plan = {}
                _settle(world)
            except Exception as error:
                raise AssertionError(f"seed {seed}, plan {plan}: {error!r}") from error
        try:
            checks.everything(world)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, plan {plan}, fired {faults.fired}: {error}") from error
    return faults


def _busy(world: World) -> None:
    draw = world.random
    for _ in range(12):
        if draw.random() < 0.55:
            world.submit(**_spec(world))
        if draw.random() < 0.15:
            world.on_some_job("cancel", services.cancel_job)
        if draw.random() < 0.08:
            world.on_some_job("requeue", services.requeue_job)
        if draw.random() < 0.05:
            agent = draw.choice(world.agents)
            agent.silent_until = world.now + _seconds(draw.choice([3, 20, 50]))
        world.tick(draw.choice([0.2, 1.0, 3.0]))


def _settle(world: World) -> None:
    """Faults have stopped: silence ends, leases run out, retries use themselves up."""
    for _ in range(60):
        world.tick(5.0)
        if not _open():
            break
    world.tick(1.0)


def _open() -> bool:
    from pool.scheduling.models import Job
    from pool.scheduling.states import JOB_FINAL

    return Job.objects.exclude(state__in=JOB_FINAL).exists()


def _spec(world: World) -> dict[str, Any]:
    draw = world.random
    shape: Callable[[], dict[str, Any]] = draw.choice(
        [
            lambda: {"gpus": 1, "gpu_fraction": draw.choice([0.25, 0.5, 0.75]), "isolation": "vgpu"},
            lambda: {"gpus": 1, "cpu_milli": 1000, "memory_mib": 512},
            lambda: {"gpus": 1, "replicas": 2, "gpu_fraction": 0.5, "isolation": "vgpu"},
            lambda: {"gpus": 1, "mig_profile": draw.choice(["1g.5gb", "2g.10gb", "3g.20gb"])},
        ]
    )
    seconds = draw.choice([1, 4, 9, 25])
    body = {
        **shape(),
        "environment": {"WEIR_SIM_SECONDS": str(seconds), "WEIR_SIM_EXIT": draw.choice(["0", "0", "0", "1"])},
        "max_retries": draw.choice([0, 1]),
        "priority": draw.choice([0, 0, 5]),
    }
    if draw.random() < 0.2:
        body["max_duration"] = 5
    return body


def _seconds(value: float) -> Any:
    from datetime import timedelta

    return timedelta(seconds=value)
