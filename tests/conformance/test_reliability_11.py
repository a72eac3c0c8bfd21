"""Reliability 11: a run between two reports is billed by its events, and the clock stops at its end."""

from console.common import clock
from tests.nodes.work import interval_of, reaches, replica_of


def test_a_run_shorter_than_a_report_period_is_billed_for_its_own_length(calm, bench, agents):
    agents(calm.address)
    job = bench.shell("sleep 1.5; exit 0")
    reaches(job, "succeeded")
    heard = clock.now()
    replica, interval = replica_of(job), interval_of(job)
    held = (interval.ended_at - interval.started_at).total_seconds()
    # between the process's own length and what the machine needed on top, never a multiple of the 60 s period
    assert 1.5 <= held < 50.0
    assert interval.started_at == replica.assigned_at
    assert interval.ended_at == replica.ended_at <= interval.closed_at <= heard


def test_evicted_work_is_billed_to_its_end_and_not_to_the_next_report(calm, bench, agents):
    from pool.scheduling.services import requeue_job

    agents(calm.address)
    job = bench.shell("sleep 1000")
    reaches(job, "running")
    asked = clock.now()
    requeue_job(bench.actor, job)
    reaches(job, "queued")
    interval = interval_of(job)
    assert asked <= interval.ended_at <= interval.closed_at
    assert (interval.closed_at - interval.ended_at).total_seconds() < 50.0
