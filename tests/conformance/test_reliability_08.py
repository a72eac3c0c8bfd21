"""Reliability 8: GPU 2 of 8 fails: it alone leaves the pool, and it comes back without a restart of the agent."""

from console.common.actor import system
from pool.inventory.models import Device, Node
from pool.inventory.services import set_device_state
from tests.nodes.running import wait_for
from tests.nodes.work import interval_of


def faulty():
    return set(Device.objects.filter(state="faulty").values_list("node__name", "index"))


def test_one_fault_takes_one_device_and_its_end_gives_it_back(gateway, bench, fleets):
    fleet = fleets(gateway.address)
    fleet.order("fault", "sim-0000", device=2)
    wait_for(lambda: faulty() == {("sim-0000", 2)}, "device 2 is out")
    assert Node.objects.filter(reachable=True).count() == 2
    jobs = [bench.run(["work"], gpus=1, gpu_fraction=1.0) for _ in range(15)]
    used = {interval_of(job).device_id for job in jobs}
    assert len(used) == 15
    assert Device.objects.get(node__name="sim-0000", index=2).pk not in used
    fleet.order("fault", "sim-0000", device=2, on=False)
    wait_for(lambda: not faulty(), "device 2 is back")
    last = bench.run(["work"], gpus=1, gpu_fraction=1.0)
    assert interval_of(last).device_id not in used


def test_what_an_operator_decided_is_not_undone(gateway, fleets):
    fleet = fleets(gateway.address)
    device = Device.objects.get(node__name="sim-0001", index=1)
    set_device_state(system("operator"), device, "cordoned")
    fleet.order("fault", "sim-0001", device=1)
    fleet.order("fault", "sim-0001", device=3)
    wait_for(lambda: faulty() == {("sim-0001", 3)}, "device 3 is out")
    fleet.order("fault", "sim-0001", device=1, on=False)
    fleet.order("fault", "sim-0001", device=3, on=False)
    wait_for(lambda: not faulty(), "device 3 is back")
    device.refresh_from_db()
    assert device.state == "cordoned"
