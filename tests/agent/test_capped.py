"""Bounded output on disk: head and tail stay, the middle goes, offsets tell."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pool.agent import capped


def content(folder, stream="stdout"):
    """All that is left: {offset: bytes} of contiguous runs."""
    at, runs = 0, []
    while True:
        start, data = capped.read(folder, stream, at, 7)
        if not data:
            return runs
        if runs and runs[-1][0] + len(runs[-1][1]) == start:
            runs[-1] = (runs[-1][0], runs[-1][1] + data)
        else:
            runs.append((start, data))
        at = start + len(data)


@settings(max_examples=60, deadline=None)
@given(pieces=st.lists(st.binary(min_size=1, max_size=40), max_size=40))
def test_head_and_tail_stay_and_offsets_are_true(tmp_path_factory, pieces):
    folder = tmp_path_factory.mktemp("out")
    writer = capped.Writer(folder, "stdout", head=32, segment=16)
    for piece in pieces:
        writer.write(piece)
    writer.close()
    whole = b"".join(pieces)
    assert writer.end == len(whole)
    runs = content(folder)
    for start, data in runs:
        assert whole[start : start + len(data)] == data
    kept = sum(len(data) for _, data in runs)
    assert kept <= 32 + (capped.SEGMENTS + 1) * 16
    if whole:
        assert runs[0][0] == 0
        assert runs[-1][0] + len(runs[-1][1]) == len(whole)
    if len(whole) <= 32 + capped.SEGMENTS * 16:
        assert kept == len(whole)


def test_a_disk_that_takes_nothing_leaves_a_gap_and_no_error(tmp_path):
    writer = capped.Writer(tmp_path / "missing", "stdout")
    writer.write(b"lost")
    (tmp_path / "missing").mkdir()
    writer.write(b"kept")
    writer.close()
    assert (writer.end, writer.dropped) == (8, 4)
    assert capped.read(tmp_path / "missing", "stdout", 0, 100) == (4, b"kept")


def test_streams_do_not_mix(tmp_path):
    for stream in ("stdout", "stderr"):
        writer = capped.Writer(tmp_path, stream)
        writer.write(stream.encode())
        writer.close()
    assert capped.read(tmp_path, "stdout", 0, 100) == (0, b"stdout")
    assert capped.segments(tmp_path, "stderr") == [0]
