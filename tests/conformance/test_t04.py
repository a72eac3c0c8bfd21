"""T04: a fraction that is no number, or none that fits, is rejected at submit with the field named."""

from collections.abc import Callable
from typing import Any

import pytest

from pool.scheduling.models import Job
from tests import factories
from tests.api.conftest import Api, fields


@pytest.mark.parametrize(
    "fraction",
    ['"NaN"', "NaN", '""', '"1e309"', "1e309", '"-0.5"', "-0.5", '"0.5x"', "0", "1.01", "null0", "[]"],
)
@pytest.mark.usefixtures("live")
def test_rejected_at_submit(api: Callable[..., Api], fraction: str) -> None:
    factories.make_node("n1")
    raw = '{"name": "t", "command": ["true"], "gpu_fraction": ' + fraction + "}"
    answer: Any = api("member_a").post("jobs", raw)
    assert answer.status_code in {400, 422}
    assert fields(answer) == (["body"] if fraction == "null0" else ["gpu_fraction"])
    assert not Job.objects.exists()


@pytest.mark.parametrize("gpus", ["65", "4294967297", "1" + "0" * 309, "-1"])
def test_a_device_count_never_wraps_around(api: Callable[..., Api], gpus: str) -> None:
    factories.make_node("n1")
    answer = api("member_a").post("jobs", '{"name": "t", "command": ["true"], "gpus": ' + gpus + "}")
    assert fields(answer) == ["gpus"]
    assert not Job.objects.exists()
