"""The range told to those who wait holds the true start about as often as it says."""

import numpy as np

from tests.engine.ahead.calibration import calibrate, coverage
from tests.shared_data import SAMPLES


def test_a_range_of_four_fifths_holds_about_four_fifths_on_a_real_trace() -> None:
    every = np.loadtxt(SAMPLES / "runtimes-pai-v2020.csv", skiprows=1)
    spans = np.maximum(np.random.default_rng(7).permutation(every)[:1_500], 1.0)
    found = calibrate(spans, cards=32, asks=15, load=1.5)
    assert len(found) >= 20
    assert 0.65 < coverage(found) < 0.95
