"""A seeded life of jobs on a control plane: `python -m tests.chaos.load SEED RATE FOLDER`, until it is terminated.

FOLDER/acknowledged gets the public id of each job once its submission has returned, on disk before the next one.
FOLDER/ran gets one line a real process: its replica, written by the process itself.
"""

import contextlib
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

import django

LOCAL, SIMULATED = "L40S", "H100-80GB"
TENANT = "chaos"


def main(seed: int, rate: float, folder: Path) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    django.setup()
    dice = random.Random(seed)
    actor = make_tenant()
    acknowledged = [submit(actor, forever(folder), folder)]
    while True:
        acknowledged.append(submit(actor, some_job(dice, folder), folder))
        if dice.random() < 0.1:
            cancel(actor, dice.choice(acknowledged[1:]))
        time.sleep(dice.expovariate(rate))


def make_tenant() -> Any:
    """The tenant, its queue, and the actor that submits for it."""
    from console.common.actor import system
    from console.tenants.models import Project, Tenant
    from pool.scheduling.models import Queue

    tenant, _ = Tenant.objects.get_or_create(slug=TENANT, defaults={"name": "Chaos"})
    Project.objects.get_or_create(tenant=tenant, slug="default", defaults={"name": "default"})
    Queue.objects.get_or_create(tenant=tenant, name="default")
    return system("chaos")


def submit(actor: Any, spec: dict[str, Any], folder: Path) -> str:
    from pool.scheduling.services import submit_job

    job = submit_job(actor, {"tenant": TENANT, "project": "default", "queue": "default", **spec})
    with (folder / "acknowledged").open("a") as file:
        file.write(job.public_id + "\n")
        file.flush()
        os.fsync(file.fileno())
    return str(job.public_id)


def cancel(actor: Any, public_id: str) -> None:
    from console.common.errors import Conflict
    from pool.scheduling.models import Job
    from pool.scheduling.services import cancel_job

    with contextlib.suppress(Conflict):  # it has ended already
        cancel_job(actor, Job.objects.get(public_id=public_id))


def forever(folder: Path) -> dict[str, Any]:
    """Real work that must live through everything that is killed around it."""
    script = f'echo "$WEIR_REPLICA" >> {folder}/ran; echo $$ > {folder}/forever.pid; exec sleep 3600'
    return {"name": "forever", **real(script)}


def real(script: str) -> dict[str, Any]:
    slice_ = {"gpu_fraction": 0.25, "models": [LOCAL], "cpu_milli": 10, "memory_mib": 16}
    return {"command": ["sh", "-c", script], **slice_}


def some_job(dice: random.Random, folder: Path) -> dict[str, Any]:
    """A short real process, a whole card, a slice, or a gang on the simulated nodes."""
    seconds = round(dice.uniform(0.2, 3.0), 2)
    kind = dice.choices(["real", "whole", "slice", "gang"], [3, 3, 3, 1])[0]
    if kind == "real":
        return {"name": "real", **real(f'echo "$WEIR_REPLICA" >> {folder}/ran; sleep {seconds}'), "max_retries": 3}
    simulated = {"models": [SIMULATED], "command": ["train"], "environment": {"WEIR_SIM_SECONDS": str(seconds)}}
    small = {"cpu_milli": 100, "memory_mib": 64, "max_retries": 3}
    size: dict[str, Any] = {
        "whole": {"gpus": dice.choice([1, 2, 4])},
        "slice": {"gpu_fraction": dice.choice([0.0625, 0.25, 0.5])},
        "gang": {"gpus": 4, "replicas": 3, "min_member": 3},
    }[kind]
    return {"name": kind, **simulated, **small, **size}


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), Path(sys.argv[3]))
