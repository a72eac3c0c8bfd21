"""A gateway that is told to stop ends, however early: the client of Valkey swallows what comes while it connects."""

import time

import pytest

from tests.nodes.running import running


@pytest.mark.parametrize("after_s", [0.0, 0.001, 0.003, 0.01, 0.03, 0.08])
def test_it_ends_while_it_still_connects(transactional_db, live, after_s):
    for _ in range(3):
        with running(report_s=5.0, lease_s=30.0, skew_s=5.0):
            time.sleep(after_s)
            told = time.monotonic()
        assert time.monotonic() - told < 60
