"""The builder against a real database and a real Valkey."""

import struct

import numpy as np
import pytest
import redis
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.common import clock
from console.tenants.models import Tenant
from pool.inventory.models import Device, Node
from pool.nodes.heatmap import codec, layout, store
from pool.nodes.heatmap.builder import Builder
from pool.nodes.heatmap.counters import tenant_order
from pool.nodes.models import PoolSample
from pool.scheduling.models import Allocation, Attempt, Job, Replica
from tests import factories

pytestmark = pytest.mark.django_db
NOW = 1_796_000_000.0


def _report(live: redis.Redis, node: Node, values: list[int], at: float = NOW) -> None:
    rows = np.array([values] * node.devices.count(), "<u2")
    live.set(f"weir:tele:{node.pk}", struct.pack("<dI", at, len(rows)) + rows.tobytes())


def _want(live: redis.Redis, *layers: str) -> None:
    for layer in layers:
        live.set(store.want_key(layer), 1)


def _allocate(device: Device, job: Job, share: int = 10_000) -> Allocation:
    now = clock.now()
    attempt = Attempt.objects.create(job=job, number=job.attempts.count() + 1, epoch=1, placed_at=now)
    role = job.roles.get()
    replica = Replica.objects.create(attempt=attempt, job=job, role=role, rank=0, node=device.node, assigned_at=now)
    return Allocation.objects.create(
        replica=replica,
        job=job,
        tenant=job.tenant,
        node=device.node,
        device=device,
        isolation="vgpu",
        share_bp=share,
        memory_mib=100,
        epoch=1,
        created_at=now,
    )


def _frames(builder: Builder, now: float, devices: int) -> dict[str, codec.Frame]:
    return {name.split(".")[1]: codec.decode(data, devices) for name, data in builder.tick(now)}


def test_nothing_is_published_without_a_viewer_and_the_rest_is_still_kept(live: redis.Redis) -> None:
    node = factories.make_node(devices=2)
    _report(live, node, [9_000, 5_000, 600, 300, 0])
    assert Builder(live).tick(NOW) == []
    summary = store.read_summary(live)
    assert summary is not None
    assert (summary["devices"], summary["utilisation_bp"]) == (2, 9_000)
    assert live.get(store.LAYOUT) == layout.read().document


def test_first_full_then_deltas_that_follow_each_other(live: redis.Redis) -> None:
    nodes = [factories.make_node(devices=8) for _ in range(4)]
    for node in nodes:
        _report(live, node, [5_000, 5_000, 600, 300, 0])
    _want(live, "utilisation")
    builder = Builder(live)
    first = _frames(builder, NOW, 32)
    assert set(first) == {"utilisation", "marks"}
    assert first["utilisation"].is_full
    _report(live, nodes[2], [7_500, 5_000, 600, 300, 0], NOW + 1)
    second = _frames(builder, NOW + 1, 32)["utilisation"]
    assert second.base == first["utilisation"].sequence
    assert second.indexes is not None
    assert second.indexes.tolist() == list(range(16, 24))
    quiet = _frames(builder, NOW + 2, 32)["utilisation"]
    assert (quiet.base, len(quiet.values)) == (second.sequence, 0)
    kept = codec.decode(live.get(store.frame_key("utilisation")) or b"", 32)
    assert (kept.is_full, kept.sequence) == (True, quiet.sequence)
    assert kept.values[16] == 188


def test_a_builder_that_takes_over_goes_on_with_higher_sequences(live: redis.Redis) -> None:
    factories.make_node(devices=1)
    _want(live, "memory")
    before = _frames(Builder(live), NOW, 1)["memory"].sequence
    after = _frames(Builder(live), NOW + 1, 1)["memory"]
    assert after.is_full
    assert after.sequence > before


def test_counters_marks_and_tenants_follow_the_database(live: redis.Redis) -> None:
    node = factories.make_node(devices=4)
    other = factories.make_node(devices=1)
    a, b = factories.make_tenant(), factories.make_tenant()
    _want(live, "allocation", "tenant")
    builder = Builder(live)
    assert _frames(builder, NOW, 5)["allocation"].values.tolist() == [0] * 5
    d0, d1, *_ = node.devices.order_by("index")
    held = _allocate(d0, factories.make_job(a), 2_500)
    _allocate(d1, factories.make_job(a), 5_000)
    _allocate(d1, factories.make_job(b), 5_000)
    Device.objects.filter(node=node, index=3).update(state="faulty")
    Node.objects.filter(pk=other.pk).update(state="draining")
    rows = _frames(builder, NOW + 1, 5)["tenant"].table
    held_by = codec.decode(live.get(store.frame_key("tenant")) or b"", 5).values.tolist()
    assert rows == Tenant.objects.count()
    assert held_by == [1 + list(tenant_order()).index(a.pk), codec.SEVERAL, 0, 0, 0]
    kept = codec.decode(live.get(store.frame_key("allocation")) or b"", 5).values
    assert kept.tolist() == [62, 250, 0, 0, 0]
    marks = codec.decode(live.get(store.frame_key("marks")) or b"", 5).values
    assert marks.tolist() == [0, 0, 0, codec.MARK_FAULT, codec.MARK_DRAIN]
    held.released_at = clock.now()
    held.save(update_fields=["released_at"])
    _frames(builder, NOW + 2, 5)
    assert codec.decode(live.get(store.frame_key("tenant")) or b"", 5).values[0] == 0


def test_a_quiet_second_costs_one_query(live: redis.Redis) -> None:
    for _ in range(3):
        factories.make_node(devices=2)
    builder = Builder(live)
    builder.tick(NOW)
    with CaptureQueriesContext(connection) as asked:
        builder.tick(NOW + 1)
    assert len(asked) == 1


@pytest.mark.parametrize("change", ["node", "device", "gone"])
def test_a_fleet_that_changes_gives_a_new_layout_and_full_frames(live: redis.Redis, change: str) -> None:
    node = factories.make_node(devices=2)
    _want(live, "utilisation")
    builder = Builder(live)
    before = _frames(builder, NOW, 2)["utilisation"]
    if change == "node":
        factories.make_node(devices=1)
    elif change == "device":
        kind = factories.make_model()
        Device.objects.create(node=node, index=2, uuid="GPU-new", model=kind, memory_mib=kind.memory_mib)
    else:
        Device.objects.filter(node=node, index=1).delete()
    devices = Device.objects.count()
    after = _frames(builder, NOW + 1, devices)["utilisation"]
    assert after.is_full
    assert len(after.values) == devices
    assert after.layout != before.layout
    assert after.sequence > before.sequence


def test_the_layout_is_ordered_as_a_person_would(live: redis.Redis) -> None:
    for rack in ("r10", "r2", ""):
        for name in ("n10", "n9"):
            node = factories.make_node(f"{rack or 'x'}-{name}", devices=1, rack=rack or "tmp")
            if not rack:
                Node.objects.filter(pk=node.pk).update(rack=None)
    found = layout.read()
    names = Node.objects.in_bulk(found.node_ids.tolist())
    order = [names[int(pk)].name for pk in found.node_ids]
    assert order == ["r2-n9", "r2-n10", "r10-n9", "r10-n10", "x-n9", "x-n10"]
    assert layout.read().version == found.version


def test_one_sample_a_minute_even_with_two_builders(live: redis.Redis) -> None:
    node = factories.make_node(devices=2)
    _report(live, node, [4_000, 5_000, 600, 300, 0])
    factories.make_job()
    for builder in (Builder(live), Builder(live)):
        builder.tick(NOW)
        builder.tick(NOW + 1)
    row = PoolSample.objects.get()
    assert row.at.second == 0
    assert (row.devices, row.utilisation_bp, row.queued_jobs, row.power_w) == (2, 4_000, 1, 600)
