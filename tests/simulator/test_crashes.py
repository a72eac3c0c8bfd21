"""Crashes at every fault point, over many seeds: no invariant may break (I1, I2, I3, I6, I7)."""

import os
import random
from collections import Counter

import pytest
from django.db import connection

from tests.simulator.runs import POINTS, fresh_database, run

# each run on SQLite copies a file, on PostgreSQL it empties all tables: fewer seeds there
SEEDS = int(os.environ.get("WEIR_SIM_SEEDS") or (50 if connection.vendor == "sqlite" else 4))
PER_RUN = 11  # faults a run: few enough that one does not hide another


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_crash_at_every_point(seed, tmp_path):
    draw = random.Random(seed)
    points = list(POINTS)
    draw.shuffle(points)
    fired: Counter[tuple[str, str]] = Counter()
    template = tmp_path / "template.sqlite3"
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(template)])
    for start in range(0, len(points), PER_RUN):
        plan = {point: draw.choice([1, 2, 3]) for point in points[start : start + PER_RUN]}
        with fresh_database(template):
            fired.update(run(seed * 100 + start, plan).fired)
    assert len(fired) >= 20, f"only {len(fired)} points were reached: {sorted(fired)}"
