"""Jobs in the browser: dry run while typing, submitting, live list, live output."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from playwright.sync_api import expect

from console.common import clock, lease
from console.tenants.models import User
from pool.nodes.models import LogChunk
from pool.scheduling import services
from pool.scheduling.models import Job, JobState, Replica
from pool.scheduling.scheduler import Scheduler, lease_name
from tests import factories
from tests.browser.conftest import Open
from tests.browser.frames import wait_until

expect.set_options(timeout=120_000)
Sweep = Callable[[], None]


@pytest.fixture
def member(transactional_db: None) -> User:
    tenant = factories.make_tenant("aurora")
    factories.make_node("n-01", devices=8)
    return factories.make_member(tenant, "member", "ada@aurora.test")


@pytest.fixture
def sweep(transactional_db: None) -> Sweep:
    def run() -> None:
        epoch = lease.acquire(lease_name(), "test", timedelta(minutes=5), clock.now())
        assert epoch is not None
        Scheduler(epoch).sweep()

    return run


def test_dry_run_follows_the_typing_and_submit_leads_to_the_job(open_page: Open, member: User) -> None:
    seen = open_page("/jobs/submit/", member)
    page = seen.page
    panel = page.locator("#dry-run")
    expect(panel).to_contain_text("Would start at once")
    page.get_by_label("Devices per replica").fill("9")
    expect(panel).to_contain_text("Can never run on this hardware")
    page.get_by_role("radio", name="Share of a card").check()
    page.get_by_label("Devices per replica").fill("1")
    page.get_by_label("Share of each").fill("3/2")
    expect(page.locator("#id_gpu_share_error")).to_contain_text("Write a share of one card")
    page.get_by_label("Share of each").fill("1/8")
    expect(page.locator("#id_gpu_share_error")).to_have_text("")
    expect(panel).to_contain_text("1/8 card")
    seen.assert_clean()
    page.get_by_label("Name").fill("typed-here")
    page.get_by_label("Command").fill("sleep 5")
    page.get_by_role("button", name="Submit job").click()
    page.wait_for_url("**/jobs/job_*/")
    assert Job.objects.get().name == "typed-here"
    expect(page.locator("#messages")).to_contain_text("typed-here was submitted")
    seen.assert_clean()


def test_errors_keep_what_was_typed(open_page: Open, member: User) -> None:
    page = open_page("/jobs/submit/", member).page
    page.get_by_label("Command").fill("python train.py")
    page.get_by_role("button", name="Submit job").click()
    expect(page.locator("#id_name_error")).not_to_have_text("")
    expect(page.locator("#dry-run")).to_contain_text("Would start at once")  # the live check came, and left it
    expect(page.locator("#id_name_error")).not_to_have_text("")
    assert page.get_by_label("Command").input_value() == "python train.py"
    assert page.get_by_label("Name").get_attribute("aria-invalid") == "true"
    assert Job.objects.count() == 0


def test_submit_and_check_work_without_javascript(open_page: Open, member: User) -> None:
    page = open_page("/jobs/submit/", member, scripts=False).page
    page.get_by_label("Name").fill("no-script")
    page.get_by_label("Command").fill("true")
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#dry-run")).to_contain_text("Would start at once")
    page.get_by_role("button", name="Submit job").click()
    page.wait_for_url("**/jobs/job_*/")
    assert Job.objects.get().name == "no-script"


def test_the_list_shows_a_new_job_by_itself(open_page: Open, member: User) -> None:
    seen = open_page("/jobs/?state=queued", member)
    expect(seen.page.locator("#jobs")).to_contain_text("Nothing waits")
    factories.make_job(member.memberships.get().tenant, name="came-later")
    expect(seen.page.locator("#jobs")).to_contain_text("came-later")
    seen.assert_clean()


def test_filters_go_into_the_address(open_page: Open, member: User) -> None:
    tenant = member.memberships.get().tenant
    factories.make_job(tenant, name="alpha")
    factories.make_job(tenant, name="beta")
    seen = open_page("/jobs/?state=queued", member)
    page = seen.page
    page.locator("[data-list-search]").press_sequentially("alp")
    expect(page.locator("#jobs")).not_to_contain_text("beta")
    expect(page.locator("#jobs")).to_contain_text("alpha")
    page.wait_for_url("**q=alp**")
    assert page.evaluate("document.activeElement.name") == "q"  # a refresh takes no focus away
    seen.assert_clean()


def test_output_arrives_is_searched_and_followed(open_page: Open, member: User, sweep: Sweep) -> None:
    tenant = member.memberships.get().tenant
    job = factories.make_job(tenant, name="talks")
    sweep()
    replica = Replica.objects.get(job=job)
    services.replica_started(replica.public_id, received_at=clock.now())
    first = b"epoch 1 loss 3.2\n"
    LogChunk.objects.create(replica=replica, stream="stdout", offset=0, data=first, at=clock.now())
    seen = open_page(f"/jobs/{job.public_id}/", member)
    page = seen.page
    log = page.locator("#log")
    expect(log).to_contain_text("epoch 1")
    expect(page.locator("[data-log-status]")).to_contain_text("Live")
    LogChunk.objects.create(replica=replica, stream="stdout", offset=len(first), data=b"epoch 2\n", at=clock.now())
    LogChunk.objects.create(replica=replica, stream="stderr", offset=0, data=b"careful\n", at=clock.now())
    expect(log).to_contain_text("epoch 2")
    expect(log).to_contain_text("careful")
    assert log.locator(".log-line", has_text="epoch 1").count() == 1  # nothing comes twice
    page.get_by_role("button", name="stderr", exact=True).click()
    expect(log.locator(".log-line", has_text="epoch 1")).to_be_hidden()
    page.get_by_role("button", name="Both").click()
    page.get_by_label("Search the output").fill("LOSS")
    expect(page.locator("[data-log-count]")).to_contain_text("1")
    expect(log.locator(".log-line", has_text="careful")).to_be_hidden()
    seen.assert_clean()


def test_the_page_notices_the_end_of_the_job(open_page: Open, member: User, sweep: Sweep) -> None:
    job = factories.make_job(member.memberships.get().tenant, name="ends")
    sweep()
    replica = Replica.objects.get(job=job)
    services.replica_started(replica.public_id, received_at=clock.now())
    seen = open_page(f"/jobs/{job.public_id}/", member)
    live = seen.page.locator("#job-live")
    expect(live).to_contain_text("Running")
    services.replica_ended(
        replica.public_id, received_at=clock.now(), age_us=0, exit_code=0, detail="", result="succeeded"
    )
    expect(live).to_contain_text("Succeeded")
    expect(seen.page.locator("#job-actions")).not_to_contain_text("Cancel job")
    expect(seen.page.locator("[data-log-status]")).to_contain_text("Ended")  # no longer live, though connected
    seen.assert_clean()


def test_cancel_asks_first(open_page: Open, member: User) -> None:
    job = factories.make_job(member.memberships.get().tenant, name="stop-me")
    page = open_page(f"/jobs/{job.public_id}/", member).page
    page.locator("summary", has_text="Cancel job").click()
    job.refresh_from_db()
    assert job.state == JobState.QUEUED
    page.get_by_role("button", name="Yes, cancel it").click()
    expect(page.locator("#job-live")).to_contain_text("Cancelled")


def test_a_refresh_leaves_an_open_menu_alone(open_page: Open, member: User) -> None:
    job = factories.make_job(member.memberships.get().tenant, name="read-me")
    page = open_page(f"/jobs/{job.public_id}/", member).page
    page.locator("summary", has_text="Priority").click()
    page.get_by_label("Higher waits less").fill("42")
    with page.expect_response(lambda answer: answer.url.endswith(f"/jobs/{job.public_id}/")):
        page.evaluate("document.getElementById('job-live').dispatchEvent(new CustomEvent('job:changed'))")
    wait_until(page, "!document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling')")
    assert page.get_by_label("Higher waits less").input_value() == "42"
    page.get_by_role("button", name="Set priority").click()
    expect(page.locator("#messages")).to_contain_text("The priority is now 42")


def test_output_is_polled_where_no_websocket_passes(open_page: Open, member: User, sweep: Sweep) -> None:
    job = factories.make_job(member.memberships.get().tenant, name="behind-a-proxy")
    sweep()
    replica = Replica.objects.get(job=job)
    services.replica_started(replica.public_id, received_at=clock.now())
    page = open_page(
        f"/jobs/{job.public_id}/", member, prepare=lambda page: page.route_web_socket("**", lambda ws: ws.close())
    ).page
    expect(page.locator("[data-log-status]")).to_contain_text("by polling")
    LogChunk.objects.create(replica=replica, stream="stdout", offset=0, data=b"all the same\n", at=clock.now())
    expect(page.locator("#log")).to_contain_text("all the same")


def test_output_of_the_next_attempt_takes_the_place_of_the_last(open_page: Open, member: User, sweep: Sweep) -> None:
    job = factories.make_job(member.memberships.get().tenant, name="twice", max_retries=1)
    sweep()
    first = Replica.objects.get(job=job)
    services.replica_started(first.public_id, received_at=clock.now())
    LogChunk.objects.create(replica=first, stream="stdout", offset=0, data=b"first life\n", at=clock.now())
    seen = open_page(f"/jobs/{job.public_id}/", member)
    log = seen.page.locator("#log")
    expect(log).to_contain_text("first life")
    services.replica_ended(first.public_id, received_at=clock.now(), age_us=0, exit_code=1, detail="", result="failed")
    Job.objects.filter(pk=job.pk).update(queued_at=clock.now())
    sweep()
    second = Replica.objects.exclude(pk=first.pk).get(job=job)
    services.replica_started(second.public_id, received_at=clock.now())
    LogChunk.objects.create(replica=second, stream="stdout", offset=0, data=b"second life\n", at=clock.now())
    expect(log).to_contain_text("second life")
    expect(log).not_to_contain_text("first life")
    expect(seen.page.locator("[data-log-status]")).to_contain_text("Live")
    seen.assert_clean()
