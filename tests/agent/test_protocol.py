"""Frames and messages: what fits comes through unchanged, what does not is refused by name."""

import asyncio
import struct

import numpy as np
import pytest

from pool.agent import messages, protocol
from pool.agent.protocol import Kind, ProtocolError, State


def read(data):
    async def go():
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        return await protocol.read_frame(reader)

    return asyncio.run(go())


def rows(count, **columns):
    table = np.zeros(count, protocol.TELEMETRY)
    for name, value in columns.items():
        table[name] = value
    return table.tobytes()


def test_report_comes_through():
    data = rows(3, util=[0, 5000, 10_000], memory=[1, 2, 81_559], temp=[300, 450, 900], power=700, flags=[0, 1, 0])
    sent = [("rep_a", State.RUNNING), ("rep_b", State.EXITED)]
    kind, body = read(protocol.pack_report(7, data, sent))
    report = protocol.read_report(body)
    assert (kind, report.seq, report.replicas) == (Kind.REPORT, 7, sent)
    assert report.devices.tobytes() == data


def test_log_comes_through():
    _, body = read(protocol.pack_log("rep_a", "stderr", 1 << 40, b"\x00\xffbytes"))
    piece = protocol.read_log(body)
    assert (piece.replica, piece.stream, piece.offset, piece.data) == ("rep_a", "stderr", 1 << 40, b"\x00\xffbytes")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (struct.pack("!IB", 3, 99) + b"abc", "kind 99"),
        (struct.pack("!IB", 1 << 31, 1), "at most"),
        (struct.pack("!IB", (1 << 20) + 1, 1), "at most"),
    ],
)
def test_bad_frames_are_refused_before_they_are_read(data, says):
    with pytest.raises(ProtocolError, match=says):
        read(data)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"type": 1}', b'{"type": NaN}', b'{"a": 1}', b"\xff"])
def test_control_that_is_no_message(body):
    with pytest.raises(ProtocolError):
        protocol.read_control(body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x00" * 7,
        struct.pack("<IHH", 1, 2, 0) + rows(1),
        struct.pack("<IHH", 1, 1, 0) + rows(1, util=10_001),
        struct.pack("<IHH", 1, 0, 1),
        struct.pack("<IHH", 1, 0, 1) + b"\x02\x05abc",
        struct.pack("<IHH", 1, 0, 1) + b"\x02\x00",
        struct.pack("<IHH", 1, 0, 1) + b"\x09\x01a",
        struct.pack("<IHH", 1, 0, 1) + b"\x02\x01\xff",
        struct.pack("<IHH", 1, 0, 0) + b"more",
        struct.pack("<IHH", 1, 65535, 65535),
    ],
)
def test_broken_reports(body):
    with pytest.raises(ProtocolError):
        protocol.read_report(body)


@pytest.mark.parametrize(
    "head",
    [
        b"{}",
        b"nonsense",
        b'{"replica": 1, "stream": "stdout", "offset": 0}',
        b'{"replica": "r", "stream": "stdin", "offset": 0}',
        b'{"replica": "r", "stream": "stdout", "offset": -1}',
        b'{"replica": "r", "stream": "stdout", "offset": true}',
        b'{"replica": "r", "stream": "stdout", "offset": 1e3}',
        b'{"replica": "r", "stream": "stdout", "offset": 99999999999999999999}',
    ],
)
def test_broken_log_heads(head):
    with pytest.raises(ProtocolError):
        protocol.read_log(struct.pack("!H", len(head)) + head + b"data")


def test_log_pieces_have_a_limit():
    with pytest.raises(ProtocolError):
        protocol.read_log(protocol.pack_log("r", "stdout", 0, b"x" * (protocol.LOG_CHUNK + 1))[5:])


EXITED = {"type": "exited", "replica": "r", "age_us": 5, "exit_code": 0, "detail": "", "cause": "exit"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("replica", 5),
        ("replica", "x" * 65),
        ("age_us", -1),
        ("age_us", 1.5),
        ("age_us", True),
        ("exit_code", "0"),
        ("exit_code", 1 << 40),
        ("detail", None),
        ("detail", "x" * 201),
        ("cause", "boredom"),
    ],
)
def test_fields_are_checked_and_named(field, value):
    assert messages.check(EXITED, messages.FROM_AGENT) == "exited"
    with pytest.raises(ProtocolError, match=f"exited.{field}"):
        messages.check({**EXITED, field: value}, messages.FROM_AGENT)


def test_a_missing_field_and_an_unknown_type_are_refused():
    with pytest.raises(ProtocolError, match=r"exited\.detail"):
        messages.check({name: value for name, value in EXITED.items() if name != "detail"}, messages.FROM_AGENT)
    with pytest.raises(ProtocolError, match="unknown"):
        messages.check({"type": "start"}, messages.FROM_AGENT)
