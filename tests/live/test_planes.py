"""What a byte stands for: scales, marks, and the difference between idle, stale and never heard of."""

import struct

import numpy as np

from pool.nodes.heatmap import codec, planes
from pool.nodes.heatmap.gather import gather

NOW = 1_000_000.0


def _blob(rows: list[list[int]], at: float = NOW) -> bytes:
    return struct.pack("<dI", at, len(rows)) + np.array(rows, "<u2").tobytes()


def _planes(blobs: list[bytes | None], counts: list[int], **more: object) -> dict[str, codec.Values]:
    count = np.array(counts, np.int64)
    first = np.concatenate([[0], np.cumsum(count)[:-1]]).astype(np.int64)
    table, received = gather(blobs, first, count)
    devices = int(count.sum())
    given = {
        "share": np.zeros(devices, np.int64),
        "marks": np.zeros(devices, np.uint8),
        "tenant": np.zeros(devices, np.uint16),
        "power_limit": np.full(devices, 700),
        **more,
    }
    return planes.build(table, received, **given, now=NOW, stale_after=15.0)  # type: ignore[arg-type]


def test_scales() -> None:
    got = _planes([_blob([[10_000, 5_000, 625, 700, 0], [1, 0, 1_300, 1_000, 0]])], [2])
    assert got["utilisation"].tolist() == [250, 1]  # a hundredth of a percent is still not idle
    assert got["memory"].tolist() == [125, 0]
    assert got["temperature"].tolist() == [125, 250]  # 62.5 °C; 130 °C stays at the top
    assert got["power"].tolist() == [200, 250]  # at the limit; far above it


def test_a_node_that_fell_silent_is_stale_and_one_never_heard_of_has_no_data() -> None:
    got = _planes([_blob([[5_000] * 4 + [0]], NOW - 16), None, _blob([[5_000] * 4 + [0]], NOW - 14)], [1, 1, 1])
    assert got["utilisation"].tolist() == [codec.STALE, codec.NO_DATA, 125]
    assert got["allocation"].tolist() == [0, 0, 0]  # the database still knows


def test_a_report_of_another_size_than_the_layout_is_left_out() -> None:
    got = _planes([_blob([[5_000] * 4 + [0]] * 3), _blob([[2_000] * 4 + [0]])], [2, 1])
    assert got["utilisation"].tolist() == [codec.NO_DATA, codec.NO_DATA, 50]


def test_broken_bytes_are_no_report() -> None:
    assert _planes([b"\xff" * 22], [1])["utilisation"].tolist() == [codec.NO_DATA]


def test_a_fault_that_the_agent_reports_marks_the_card_beside_what_the_database_says() -> None:
    marks = np.array([codec.MARK_DRAIN, codec.MARK_DRAIN], np.uint8)
    got = _planes([_blob([[0, 0, 0, 0, 1], [0, 0, 0, 0, 0]])], [2], marks=marks)
    assert got["marks"].tolist() == [codec.MARK_DRAIN | codec.MARK_FAULT, codec.MARK_DRAIN]


def test_summary_counts_only_fresh_reports() -> None:
    count = np.array([2, 1], np.int64)
    blobs = [
        _blob([[8_000, 4_000, 500, 300, 0], [6_000, 2_000, 500, 200, 0]]),
        _blob([[1, 1, 1, 1, 0]], NOW - 60),
    ]
    table, received = gather(blobs, np.array([0, 2]), count)
    marks = np.array([1, 0, 0], np.uint8)
    got = planes.summarise(table, received, np.array([10_000, 0, 5_000]), marks, now=NOW, stale_after=15.0)
    assert (got.devices, got.reporting, got.share_bp, got.faults) == (3, 2, 15_000, 1)
    assert (got.utilisation_bp, got.memory_bp, got.power_w) == (7_000, 3_000, 500)
