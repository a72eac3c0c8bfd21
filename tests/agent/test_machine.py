"""The host of real processes without a server: idempotent, honest about what ended, and found again."""

import asyncio
from contextlib import asynccontextmanager

from pool.agent.machine import Machine
from pool.agent.protocol import State
from pool.agent.simulated import SimulatedDriver, make_cards, make_devices
from pool.agent.store import Store
from tests.agent.shims import lease

FACTS = {"name": "node", "cpu_milli": 1000, "memory_mib": 1000, "labels": {}}


def work(script, **more):
    part = {"index": 0, "share_bp": 2500, "memory_mib": 1024, "isolation": "vgpu"}
    base = {"replica": "rep_1", "job": "job_1", "command": ["bash", "-c", script], "environment": {}}
    return {**base, "devices": [part], "peers": [], "rank": 0, "world_size": 1, "grace_s": 2, **more}


async def until(probe, what):
    for _ in range(24_000):
        if found := probe():
            return found
        await asyncio.sleep(0.005)
    raise AssertionError(f"waited for: {what}")


@asynccontextmanager
async def machine(folder):
    devices = make_devices("node", 2, "H100-80GB")
    store = Store(folder)
    lease(store.lease_path, 300)
    host = Machine(store, SimulatedDriver(devices, make_cards(devices)), FACTS)
    await host.recover()
    try:
        yield host
    finally:
        for replica in list(host.known):
            await host.stop(replica, 0, "end of test")
        await until(lambda: all(r.state is State.EXITED for r in host.known.values()), "all ended")


def ends(host):
    return {event["replica"]: event for event in host.events() if event["type"] == "exited"}


async def test_the_same_start_twice_is_one_process(tmp_path):
    async with machine(tmp_path) as host:
        mark = tmp_path / "mark"
        order = work(f"echo ran >> {mark}; sleep 60")
        answers = await asyncio.gather(*(host.start("rep_1", order) for _ in range(3)))
        assert all(ok for ok, _ in answers)
        await until(mark.exists, "it runs")
        assert (await host.start("rep_1", order))[0]
        assert mark.read_text() == "ran\n"
        assert [event["type"] for event in host.events()] == ["started"]


async def test_what_ended_and_was_noted_never_starts_again(tmp_path):
    async with machine(tmp_path) as host:
        mark = tmp_path / "mark"
        await host.start("rep_1", work(f"echo ran >> {mark}"))
        end = await until(lambda: ends(host).get("rep_1"), "its end")
        assert (end["exit_code"], end["cause"]) == (0, "exit")
        host.noted("rep_1", "exited")
        assert host.known == {}
        assert await host.start("rep_1", work(f"echo ran >> {mark}")) == (True, "known already")
        assert mark.read_text() == "ran\n"
    async with machine(tmp_path) as again:
        assert (await again.start("rep_1", work(f"echo ran >> {mark}")))[1] == "known already"


async def test_a_stop_before_the_start_prevents_it_and_is_told(tmp_path):
    async with machine(tmp_path) as host:
        mark = tmp_path / "mark"
        assert (await host.stop("rep_1", 5, "cancel"))[0]
        assert ends(host)["rep_1"]["cause"] == "stop"
        await host.start("rep_1", work(f"touch {mark}"))
        assert not mark.exists()
    async with machine(tmp_path) as again:  # the server had not noted it
        assert ends(again)["rep_1"]["cause"] == "stop"
        await again.start("rep_1", work(f"touch {mark}"))
        assert not mark.exists()


async def test_orders_that_cannot_be_carried_out_end_at_once_and_say_why(tmp_path):
    bad = {
        "rep_nul": (work("", command=["a\0b"]), "NUL"),
        "rep_empty": (work("", command=[]), "command"),
        "rep_device": (work("", devices=[{"index": 9, "share_bp": 1, "memory_mib": 1, "isolation": "vgpu"}]), "9"),
        "rep_broken": (work("", devices=[{"index": 0}]), "devices[0]"),
    }
    async with machine(tmp_path) as host:
        for replica, (order, says) in bad.items():
            ok, detail = await host.start(replica, order)
            assert not ok
            assert says in detail
            assert ends(host)[replica]["cause"] == "start_failed"


async def test_a_new_agent_finds_running_and_ended_work(tmp_path):
    async with machine(tmp_path) as first:
        await first.start("rep_long", work("sleep 60", replica="rep_long"))
        await first.start("rep_short", work("echo out; exit 4", replica="rep_short"))
        await until(lambda: "rep_short" in ends(first), "the short one ends")
        devices = make_devices("node", 2, "H100-80GB")
        second = Machine(Store(tmp_path), SimulatedDriver(devices, make_cards(devices)), FACTS)
        await second.recover()
        assert dict(second.replicas()) == {"rep_long": State.RUNNING, "rep_short": State.EXITED}
        assert ends(second)["rep_short"]["exit_code"] == 4
        assert len(second.output()) == 1


async def test_work_of_an_earlier_boot_is_lost_at_an_unknown_time(tmp_path):
    from pool.agent import records

    store = Store(tmp_path)
    folder = store.create("rep_1", work("sleep 60"), {})
    records.write(folder / "started.json", {"pid": 1, "shim": 1, "boot_id": "another", "at_us": 5})
    async with machine(tmp_path) as host:
        end = ends(host)["rep_1"]
        assert (end["cause"], end["age_us"]) == ("lost", None)


async def test_created_and_never_launched_is_launched(tmp_path):
    async with machine(tmp_path) as host:
        spec = host._spec("rep_1", work("exit 6"))
        host.store.create("rep_1", work("exit 6"), spec)
    async with machine(tmp_path) as again:
        end = await until(lambda: ends(again).get("rep_1"), "its end")
        assert end["exit_code"] == 6


async def test_ids_that_are_no_plain_names_touch_no_path(tmp_path):
    store = Store(tmp_path / "state")
    for bad in ("../x", "", ".", "a/b", "x" * 65):
        try:
            store.folder(bad)
        except ValueError:
            continue
        raise AssertionError(bad)
