"""The openb sample: what real tasks asked for and how long they ran (see data/NOTICE)."""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).resolve().parent.parent / "data" / "openb_tasks.csv"
SHORTEST, LONGEST = 20, 15 * 60  # seconds that a demo job runs
_SCALE: Final = 0.5  # of a real second: half of all tasks then run up to five minutes


@dataclass(frozen=True, slots=True)
class Task:
    """`percent`: of each of `gpus` cards. `seconds` are the demo's, cut to 20 s to 15 min."""

    cpu_milli: int
    memory_mib: int
    gpus: int
    percent: int
    urgent: bool
    seconds: int


@cache
def tasks() -> tuple[Task, ...]:
    with FILE.open(newline="", encoding="utf-8") as file:
        return tuple(_task(row) for row in csv.DictReader(file))


def _task(row: dict[str, str]) -> Task:
    return Task(
        cpu_milli=int(row["cpu_milli"]),
        memory_mib=int(row["memory_mib"]),
        gpus=int(row["num_gpu"]),
        percent=max(1, int(row["gpu_milli"]) // 10),
        urgent=row["qos"] == "LS",
        seconds=round(min(LONGEST, max(SHORTEST, _SCALE * int(row["seconds"])))),
    )
