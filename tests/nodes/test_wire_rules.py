"""What breaks the rules of the wire ends its own connection and nothing else; what keeps them is stored as it says."""

import struct
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from pool.agent import protocol
from pool.inventory.models import Node
from pool.nodes import telemetry
from pool.nodes.models import Agent, NodeRollup
from tests.nodes.running import new_token, wait_for
from tests.nodes.wire import Wire

BAD_FIRST = [
    b"GET / HTTP/1.1\r\n\r\n",
    struct.pack("!IB", 5, 77) + b"xxxxx",
    struct.pack("!IB", 0xFFFFFFFF, 1),
    protocol.frame(protocol.Kind.CONTROL, b"not json"),
    protocol.control({"type": "exited"}),
    protocol.control({"type": "hello", "version": 1}),
    protocol.pack_report(1, b"", []),
]
BAD_LATER = [
    protocol.control({"type": "hello"}),
    protocol.control({"type": "started", "replica": 5, "age_us": 0}),
    protocol.frame(protocol.Kind.REPORT, b"short"),
    protocol.pack_report(1, np.zeros(3, protocol.TELEMETRY).tobytes(), []),  # the hello had two devices
    protocol.frame(protocol.Kind.LOG, b"\x00\x02{}data"),
]


def welcomed(calm, node, **more):
    wire = Wire(calm.address)
    answer = wire.hello(node, token=new_token(), **more)
    assert answer["type"] == "welcome", answer
    return wire


def test_a_bad_frame_ends_its_own_connection_only(calm):
    good = welcomed(calm, "good")
    for data in BAD_FIRST:
        wire = Wire(calm.address)
        wire.raw(data)
        assert wire.is_hung_up(), data[:40]
    for number, data in enumerate(BAD_LATER):
        wire = welcomed(calm, f"bad-{number}")
        wire.raw(data)
        assert wire.is_hung_up(), data[:40]
    good.report(seq=5)
    assert good.until("lease")["seq"] == 5
    wait_for(lambda: not Agent.objects.filter(connected=True).exclude(node__name="good").exists(), "all bad are out")


def test_another_version_is_refused_by_name(calm):
    answer = Wire(calm.address).hello(token=new_token(), version=99)
    assert answer["type"] == "refused"
    assert "version 99" in answer["message"]


def test_inventory_that_makes_no_sense_is_refused_and_leaves_nothing(calm):
    wire = Wire(calm.address)
    answer = wire.hello(token=new_token(), node={"name": "x"})
    assert answer["type"] == "refused"
    assert not Node.objects.exists()


def test_the_latest_report_lies_in_valkey_as_the_pages_read_it(calm, live):
    wire = welcomed(calm, "good")
    wire.report(util=[0, 9_000], memory=[0, 40_780], temp=[300, 700], power=[70, 600], flags=[0, 0])
    node = Node.objects.get()
    found = wait_for(lambda: telemetry.unpack(live.get(telemetry.key(node.pk))), "telemetry")
    assert found.rows.tolist() == [[0, 0, 300, 70, 0], [9_000, 5_000, 700, 600, 0]]


@pytest.mark.parametrize("data", [None, b"", b"short", telemetry.HEADER.pack(1.0, 3) + b"x" * 20])
def test_what_is_no_telemetry_is_nothing(data):
    assert telemetry.unpack(data) is None


def test_a_period_becomes_one_packed_row_a_node(calm):
    wire = welcomed(calm, "good")
    measures = calm.gateway.measures
    starts_at = datetime.fromtimestamp(measures._period * 60, UTC)
    measures.now = lambda: starts_at  # the real minute may end while the reports are on their way
    wire.report(util=[1_000, 0], temp=300)
    wait_for(lambda: measures._sums, "the first report is in")
    wire.report(util=[3_000, 0], temp=310, seq=2)
    wait_for(lambda: [total.samples for total in measures._sums.values()] == [2], "the second one")
    measures.now = lambda: starts_at + timedelta(minutes=1)
    row = wait_for(NodeRollup.objects.first, "the row")
    assert row.starts_at == starts_at
    assert np.frombuffer(bytes(row.payload), "<u2").reshape(2, 5).tolist() == [[2000, 0, 305, 0, 2], [0, 0, 305, 0, 2]]
