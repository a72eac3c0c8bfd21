"""I1: the database itself refuses a double use, against concurrent raw SQL, on both databases."""

import sqlite3
import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.db import IntegrityError, connection

from console.common import clock, ids
from pool.inventory.models import Device, Node
from pool.scheduling.models import Allocation, Attempt, Interval, Replica
from tests import factories
from tests.scheduling.concurrency import run, session

pytestmark = pytest.mark.django_db(transaction=True)
REFUSALS = (sqlite3.IntegrityError, psycopg.errors.IntegrityError)
CONTENDERS = 8


@pytest.fixture
def replica():
    node = factories.make_node(devices=2, mig=False)
    job = factories.make_job()
    now = clock.now()
    attempt = Attempt.objects.create(job=job, number=1, epoch=1, placed_at=now)
    return Replica.objects.create(attempt=attempt, job=job, role=job.roles.get(), rank=0, node=node, assigned_at=now)


def values(replica: Replica, device: Device | None, **more: Any) -> dict[str, Any]:
    return {
        "public_id": ids.make("alc"),
        "replica_id": replica.pk,
        "job_id": replica.job_id,
        "tenant_id": replica.job.tenant_id,
        "node_id": replica.node_id,
        "device_id": device.pk if device else None,
        "isolation": "vgpu",
        "share_bp": 100,
        "memory_mib": 100,
        "mig_profile": "",
        "mig_start": -1,
        "mig_size": 0,
        "cpu_milli": 0,
        "host_memory_mib": 0,
        "epoch": 1,
        "created_at": clock.now().isoformat(),
        **more,
    }


def insert(raw: Any, row: dict[str, Any]) -> None:
    names = ", ".join(row)
    marks = ", ".join(["%s"] * len(row))
    run(raw, f"INSERT INTO scheduling_allocation ({names}) VALUES ({marks})", tuple(row.values()))


def race(rows: list[dict[str, Any]]) -> list[str]:
    """Each row from a session of its own, all at once; "ok" or "refused" for each."""
    results: list[str] = []
    gate = threading.Barrier(len(rows))

    def contend(row: dict[str, Any]) -> None:
        with session() as raw:
            gate.wait()
            run(raw, "BEGIN IMMEDIATE" if connection.vendor == "sqlite" else "BEGIN")
            try:
                insert(raw, row)
                run(raw, "COMMIT")
                results.append("ok")
            except REFUSALS:
                run(raw, "ROLLBACK")
                results.append("refused")

    threads = [threading.Thread(target=contend, args=(row,)) for row in rows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


Case = Callable[[Replica, Device], dict[str, Any]]
CASES: dict[str, tuple[Case, int]] = {
    "share": (lambda r, d: values(r, d, share_bp=4000), 2),
    "memory": (lambda r, d: values(r, d, memory_mib=30_000), 2),
    "whole card": (lambda r, d: values(r, d, share_bp=10000, isolation="exclusive"), 1),
    "MIG slots": (
        lambda r, d: values(r, d, isolation="mig", share_bp=1428, mig_profile="1g.10gb", mig_start=3, mig_size=1),
        1,
    ),
    "node CPU": (
        lambda r, d: values(r, None, isolation="host", share_bp=0, memory_mib=0, cpu_milli=50_000),
        2,
    ),
    "node memory": (
        lambda r, d: values(r, None, isolation="host", share_bp=0, memory_mib=0, host_memory_mib=500_000),
        2,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_concurrent_sessions_never_oversell(replica, case):
    make, fitting = CASES[case]
    device = replica.node.devices.first()
    Device.objects.filter(pk=device.pk).update(mig_enabled=case == "MIG slots")
    results = race([make(replica, device) for _ in range(CONTENDERS)])
    assert results.count("ok") == fitting
    assert Allocation.objects.count() == fitting
    device.refresh_from_db()
    assert device.used_share_bp <= 10000
    assert device.used_memory_mib <= device.memory_mib


def test_overlapping_slices_of_different_profiles(replica):
    device = replica.node.devices.first()
    Device.objects.filter(pk=device.pk).update(mig_enabled=True)
    rows = [
        values(replica, device, isolation="mig", share_bp=1428, mig_profile="1g", mig_start=start, mig_size=size)
        for start, size in ((0, 4), (2, 2), (3, 1), (0, 8))
    ]
    assert race(rows).count("ok") >= 1
    held = Allocation.objects.all()
    slots = [slot for row in held for slot in range(row.mig_start, row.mig_start + row.mig_size)]
    assert len(slots) == len(set(slots))


@pytest.mark.parametrize("mode", [False, True])
def test_a_card_is_not_cut_and_shared_at_once(replica, mode):
    device = replica.node.devices.first()
    Device.objects.filter(pk=device.pk).update(mig_enabled=mode)
    mig = values(replica, device, isolation="mig", share_bp=1428, mig_profile="1g", mig_start=0, mig_size=1)
    assert sorted(race([mig, values(replica, device)])) == ["ok", "refused"]
    assert (Allocation.objects.get().isolation == "mig") == mode


def test_a_device_of_another_node_is_refused(replica):
    other = factories.make_node(devices=1).devices.get()
    assert race([values(replica, other)]) == ["refused"]


def test_release_gives_back_once_and_history_is_frozen(replica):
    device = replica.node.devices.first()
    row = Allocation.objects.create(**values(replica, device, share_bp=2500))
    for change in ({"share_bp": 1}, {"device_id": None}, {"mig_start": 2}):
        with pytest.raises(IntegrityError):
            Allocation.objects.filter(pk=row.pk).update(**change)
    with pytest.raises(IntegrityError):
        Allocation.objects.filter(pk=row.pk).delete()
    Allocation.objects.filter(pk=row.pk).update(released_at=clock.now())
    device.refresh_from_db()
    assert (device.used_share_bp, device.used_memory_mib, device.live_shared) == (0, 0, 0)
    with pytest.raises(IntegrityError):
        Allocation.objects.filter(pk=row.pk).update(released_at=None)
    device.refresh_from_db()
    assert device.used_share_bp == 0


def test_an_interval_is_closed_once_and_never_edited_or_deleted(replica):
    device = replica.node.devices.first()
    allocation = Allocation.objects.create(**values(replica, device))
    now, job = clock.now(), replica.job
    interval = Interval.objects.create(
        allocation=allocation,
        started_at=now,
        job=job,
        tenant=job.tenant,
        project=job.project,
        queue=job.queue,
        site=replica.node.site,
        device=device,
        model_name="x",
        vendor="y",
        isolation="vgpu",
        share_bp=100,
        memory_mib=100,
        device_memory_mib=1000,
        compute_num=1,
        compute_den=100,
        memory_num=1,
        memory_den=10,
    )
    rows = Interval.objects.filter(pk=interval.pk)
    rows.update(ended_at=now, closed_at=now, end_reason="succeeded")
    for change in ({"ended_at": None}, {"started_at": now}, {"share_bp": 5}):
        with pytest.raises(IntegrityError):
            rows.update(**change)
    with pytest.raises(IntegrityError):
        rows.delete()


def test_versions_rise_with_everything_that_placement_must_know(replica):
    node = Node.objects.get(pk=replica.node_id)
    device = node.devices.first()

    def rises(change: Callable[[], Any]) -> bool:
        before = Node.objects.get(pk=node.pk).version
        change()
        return Node.objects.get(pk=node.pk).version > before

    assert rises(lambda: Node.objects.filter(pk=node.pk).update(state="cordoned"))
    assert rises(lambda: Node.objects.filter(pk=node.pk).update(reachable=False))
    assert rises(lambda: Device.objects.filter(pk=device.pk).update(state="faulty"))
    assert rises(lambda: Allocation.objects.create(**values(replica, device)))
    assert rises(lambda: Allocation.objects.update(released_at=clock.now()))
