"""The database itself: MIG slices live on cards in MIG mode only, all else on others only, and no mode changes under
what is held. On both databases, against concurrent raw SQL."""

import threading
from typing import Any

import pytest
from django.db import connection

from console.common import clock
from pool.inventory.models import Device, Node
from pool.inventory.triggers import install
from pool.scheduling.models import Allocation, Replica
from tests.scheduling.concurrency import run, session
from tests.scheduling.test_double_use import REFUSALS, insert, replica, values

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["replica"]  # a fixture
SLICE = {"isolation": "mig", "share_bp": 1428, "mig_profile": "1g.10gb", "mig_start": 0, "mig_size": 1}
WHOLE = {"isolation": "exclusive", "share_bp": 10_000}
SOFT = {"isolation": "vgpu"}
SWITCH = "UPDATE inventory_device SET mig_enabled = %s WHERE id = %s"


def card_of(replica: Replica, mode: bool) -> Device:
    device = replica.node.devices.get(index=0)
    Device.objects.filter(pk=device.pk).update(mig_enabled=mode)
    return device


def release(allocation: Allocation) -> None:
    Allocation.objects.filter(pk=allocation.pk).update(released_at=clock.now())


@pytest.mark.parametrize(("more", "mode"), [(SLICE, False), (WHOLE, True), (SOFT, True)])
def test_the_wrong_mode_is_refused(replica: Replica, more: dict[str, Any], mode: bool) -> None:
    device = card_of(replica, mode)
    with session() as raw, pytest.raises(REFUSALS):
        insert(raw, values(replica, device, **more))
    device.refresh_from_db()
    assert (device.used_share_bp, device.used_memory_mib, device.live_shared, device.live_mig) == (0, 0, 0, 0)
    assert not Allocation.objects.exists()


@pytest.mark.parametrize(("more", "mode"), [(SLICE, True), (WHOLE, False), (SOFT, False)])
def test_the_right_mode_is_kept_while_something_is_held(replica: Replica, more: dict[str, Any], mode: bool) -> None:
    device = card_of(replica, mode)
    with session() as raw:
        insert(raw, values(replica, device, **more))
        with pytest.raises(REFUSALS):
            run(raw, SWITCH, (not mode, device.pk))
        run(raw, SWITCH, (mode, device.pk))  # the same mode again is no change
    device.refresh_from_db()
    assert device.mig_enabled == mode
    release(Allocation.objects.get())
    with session() as raw:
        run(raw, SWITCH, (not mode, device.pk))
    device.refresh_from_db()
    assert device.mig_enabled != mode


def test_what_ended_long_ago_may_have_been_in_any_mode(replica: Replica) -> None:
    """History says what was, not what the card is now."""
    device = card_of(replica, True)
    row = values(replica, device, **SOFT) | {"released_at": clock.now().isoformat()}
    with session() as raw:
        insert(raw, row)
    assert Allocation.objects.count() == 1


@pytest.mark.parametrize("more", [SOFT, WHOLE])
def test_a_switch_and_work_at_the_same_instant(replica: Replica, more: dict[str, Any]) -> None:
    """Whoever is first, the other is refused: never a share on a card in MIG mode."""
    device = card_of(replica, False)
    gate = threading.Barrier(8)
    results: list[str] = []

    def contend(number: int) -> None:
        with session() as raw:
            gate.wait()
            run(raw, "BEGIN IMMEDIATE" if connection.vendor == "sqlite" else "BEGIN")
            try:
                if number % 2:
                    run(raw, SWITCH, (True, device.pk))
                else:
                    insert(raw, values(replica, device, **more))
                run(raw, "COMMIT")
                results.append("switched" if number % 2 else "held")
            except REFUSALS:
                run(raw, "ROLLBACK")

    threads = [threading.Thread(target=contend, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    device.refresh_from_db()
    assert len(set(results)) == 1
    assert (device.mig_enabled, device.live_shared > 0) == ((True, False) if "switched" in results else (False, True))


class _Editor:
    """What a trigger's installation needs of a schema editor; SQLite's own refuses to work inside a test."""

    def __init__(self, cursor: Any) -> None:
        self.connection, self.cursor = connection, cursor

    def execute(self, sql: str, params: Any = None) -> None:
        self.cursor.execute(sql, params)


@pytest.fixture
def wrong(replica: Replica) -> Allocation:
    """A soft share on a card in MIG mode, as a database from before this rule may have one."""
    device = card_of(replica, False)
    with session() as raw:
        insert(raw, values(replica, device, **SOFT))
    with connection.cursor() as cursor:
        where = "" if connection.vendor == "sqlite" else " ON inventory_device"
        cursor.execute(f"DROP TRIGGER weir_device_mig_mode{where}")
    try:
        Device.objects.filter(pk=device.pk).update(mig_enabled=True)
    finally:
        with connection.cursor() as cursor:
            install(None, _Editor(cursor))
    return Allocation.objects.get()


def test_what_is_held_in_the_wrong_mode_already_may_end_but_not_grow(wrong: Allocation, replica: Replica) -> None:
    with session() as raw:
        for more in (SOFT, SLICE | {"mig_start": 3}):
            with pytest.raises(REFUSALS):
                insert(raw, values(replica, wrong.device, **more))
    Node.objects.filter(pk=wrong.node_id).update(state="cordoned")  # other changes of the hardware go on
    Device.objects.filter(pk=wrong.device_id).update(state="cordoned")
    release(wrong)
    device = Device.objects.get(pk=wrong.device_id)
    assert (device.live_shared, device.used_share_bp, device.used_memory_mib) == (0, 0, 0)
    with session() as raw:
        insert(raw, values(replica, device, **SLICE))
