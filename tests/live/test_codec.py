"""A frame is small, says all that a browser needs to apply it, and a delta leads to what the full frame holds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pool.nodes.heatmap import codec

DEVICES = 10_240
FACTS = {"layout": 77, "time": 1_796_000_000.25}


def _values(layer: str, seed: int = 1, devices: int = DEVICES) -> np.ndarray:
    kind = np.uint16 if layer == "tenant" else np.uint8
    return np.random.default_rng(seed).integers(0, 251, devices).astype(kind)


@pytest.mark.parametrize("layer", codec.LAYERS)
def test_a_full_frame_keeps_to_its_budget_and_comes_back_whole(layer: str) -> None:
    values = _values(layer)
    data = codec.encode_full(layer, values, sequence=9, table=3, **FACTS)
    assert len(data) <= (24 if layer == "tenant" else 12) * 1024
    frame = codec.decode(data, DEVICES)
    assert (frame.layer, frame.sequence, frame.base, frame.layout, frame.table) == (layer, 9, 9, 77, 3)
    assert frame.is_full
    assert frame.time == FACTS["time"]
    assert np.array_equal(frame.values, values)
    assert codec.peek(data) == (layer, 9, 9)


@pytest.mark.parametrize("layer", ["power", "tenant"])
@pytest.mark.parametrize("devices", [40, DEVICES, 70_000])
def test_a_delta_leads_from_the_old_values_to_the_new(layer: str, devices: int) -> None:
    old = _values(layer, devices=devices)
    new = old.copy()
    new[::9] = (new[::9] + 1) % 200
    data = codec.encode_delta(layer, old, new, sequence=12, base=11, **FACTS)
    assert data is not None
    assert len(data) < len(codec.encode_full(layer, new, sequence=12, **FACTS))
    frame = codec.decode(data, devices)
    assert (frame.base, frame.sequence) == (11, 12)
    old[frame.indexes] = frame.values
    assert np.array_equal(old, new)


def test_nothing_new_is_a_header_alone() -> None:
    values = _values("memory")
    data = codec.encode_delta("memory", values, values.copy(), sequence=2, base=1, **FACTS)
    assert data is not None
    assert len(data) == codec.HEADER.size


def test_a_delta_that_would_not_be_smaller_is_not_made() -> None:
    old = np.zeros(DEVICES, np.uint8)
    assert codec.encode_delta("memory", old, old + 1, sequence=2, base=1, **FACTS) is None


@given(st.lists(st.integers(0, 255), min_size=1, max_size=60), st.data())
def test_any_change_of_any_fleet_survives_the_way(before: list[int], data: st.DataObject) -> None:
    after = data.draw(st.lists(st.integers(0, 255), min_size=len(before), max_size=len(before)))
    old, new = np.array(before, np.uint8), np.array(after, np.uint8)
    sent = codec.encode_delta("marks", old, new, sequence=2, base=1, **FACTS)
    sent = sent or codec.encode_full("marks", new, sequence=2, **FACTS)
    frame = codec.decode(sent, len(old))
    got = old.copy()
    if frame.indexes is None:
        got = frame.values
    else:
        got[frame.indexes] = frame.values
    assert np.array_equal(got, new)


@pytest.mark.parametrize("data", [b"", b"\x01" * 31, b"\x02" + b"\x00" * 40])
def test_what_is_no_frame_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="frame"):
        codec.decode(data, 4)
