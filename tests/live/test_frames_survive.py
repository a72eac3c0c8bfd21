"""Frames are a picture: whatever goes wrong while one is built, the gateway around it lives on."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import DatabaseError

from pool.nodes import frames
from pool.nodes.heatmap.counters import FleetChanged


class Failing:
    def __init__(self, error: Exception) -> None:
        self.error, self.forgot = error, 0

    def tick(self) -> list[tuple[str, bytes]]:
        raise self.error

    def forget(self) -> None:
        self.forgot += 1


@pytest.mark.parametrize("error", [FleetChanged(), DatabaseError("away"), OSError("cut"), KeyError("a fault of ours")])
async def test_a_turn_that_fails_forgets_and_goes_on(error: Exception) -> None:
    worker = Failing(error)
    with ThreadPoolExecutor(max_workers=1) as thread:
        await frames._turn(worker, asyncio.get_running_loop(), thread)  # type: ignore[arg-type]
    assert worker.forgot == 1
