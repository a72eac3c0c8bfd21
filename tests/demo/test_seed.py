"""`seed_demo`: what it makes, that it makes it once, and that an agent may come in with its token."""

import stat
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from billing.catalog.models import Price
from console.audit.models import AuditEntry
from console.demo import services
from console.demo.fleet import SITES, nodes_of
from console.tenants.models import Membership, Tenant, User
from pool.agent import fleet_spec
from pool.inventory.models import Device, Link, Node, Site
from pool.inventory.services import set_node_state, upsert_node_from_agent
from pool.nodes.models import Agent, JoinToken
from pool.nodes.services.enrolment import digest
from pool.scheduling.models import Queue
from tests.conftest import Actors

pytestmark = pytest.mark.django_db


def rows() -> dict[str, int]:
    kinds = (User, Tenant, Membership, Queue, Price, Site, Node, Device, Link, AuditEntry)
    return {kind.__name__: kind.objects.count() for kind in kinds}


def test_the_fleet_of_the_design_picture() -> None:
    services.seed(1024)
    assert (Node.objects.count(), Device.objects.count()) == (128, 1024)
    sz, bj = Site.objects.get(name="cn-sz-1"), Site.objects.get(name="cn-bj-2")
    assert (sz.fabric, bj.fabric) == ("NDR200", "RoCE v2")
    assert set(Device.objects.filter(node__site=sz).values_list("model__name", flat=True)) == {"H100-80GB"}
    assert Device.objects.filter(node__site=bj, model__name="A100-40GB").count() == 512
    assert sz.domains.filter(kind="rack").count() == 8
    node = Node.objects.get(name="sz-r03-n05")
    assert (node.rack.name, node.rack.parent.kind, node.rack.parent.parent.kind) == ("r03", "switch", "pod")
    assert node.devices.filter(mig_enabled=True).count() == 8
    assert Device.objects.filter(mig_enabled=True).count() == 128


def test_people_and_their_powers() -> None:
    services.seed(64)
    roles = dict(User.objects.exclude(platform_role="").values_list("email", "platform_role"))
    assert roles == {
        "ops@weir.example": "operator",
        "finance@weir.example": "finance",
        "audit@weir.example": "auditor",
    }
    assert set(Tenant.objects.values_list("slug", flat=True)) == {"aurora-lab", "pixelforge", "dialect", "northbridge"}
    for tenant in Tenant.objects.all():
        held = set(tenant.memberships.values_list("role", flat=True))
        assert {"owner", "member"} <= held
        assert tenant.queues.exists()
        assert tenant.projects.exists()
    groups = dict(Tenant.objects.values_list("slug", "trust_group"))
    assert groups["aurora-lab"] == groups["dialect"] == "research"
    assert not any(user.has_usable_password() for user in User.objects.all())
    assert Queue.objects.get(name="eval").limit_share_bp == 4 * 10_000
    assert Price.objects.exists()


def test_a_second_run_changes_nothing(actors: Actors) -> None:
    services.seed(64)
    node = Node.objects.get(name="sz-r01-n01")
    set_node_state(actors.operator, node, "draining")
    Device.objects.filter(node=node).update(mig_enabled=True)
    before = rows()
    services.seed(64)
    assert rows() == before
    node.refresh_from_db()
    assert node.state == "draining"
    assert node.devices.filter(mig_enabled=True).count() == 8


def test_a_larger_fleet_later_only_adds() -> None:
    services.seed(64)
    services.seed(128)
    assert Node.objects.count() == 16


def test_the_files_are_private_and_the_fleet_reads_them(tmp_path: Path) -> None:
    services.seed(64)
    for site in SITES:
        assert services.write_site_files(tmp_path, site, 64) == 4
        for kind in ("json", "token"):
            assert stat.S_IMODE(site.file(tmp_path, kind).stat().st_mode) == 0o600
        specs = fleet_spec.load(site.file(tmp_path, "json"))
        assert [spec.name for spec in specs] == [node["name"] for node in nodes_of(site, 64)]
        token = JoinToken.objects.get(digest=digest(site.file(tmp_path, "token").read_text()))
        assert (token.site.name, token.uses_left) == (site.name, 4)
        # what the agent will say is what was seeded: its join changes nothing
        for spec in specs:
            report = {**spec.facts, "devices": [card.as_message() for card in spec.devices]}
            assert not upsert_node_from_agent(report, site=token.site).changed


def test_no_token_is_left_lying_about_once_all_nodes_have_joined(tmp_path: Path) -> None:
    services.seed(64)
    site = SITES[0]
    for node in Node.objects.filter(site__name=site.name):
        Agent.objects.create(node=node, credential_digest="0" * 64)
    (tmp_path / "demo").mkdir()
    site.file(tmp_path, "state.json").write_text("{}")
    assert services.write_site_files(tmp_path, site, 64) == 0
    assert site.file(tmp_path, "token").read_text() == ""
    site.file(tmp_path, "state.json").unlink()  # the credentials are lost: all must join again
    assert services.write_site_files(tmp_path, site, 64) == 4


@pytest.mark.parametrize("size", ["0", "12", "-8", "many", "100008"])
def test_sizes_that_are_none(size: str) -> None:
    with pytest.raises(CommandError, match="multiple of 8"):
        call_command("seed_demo", f"--devices={size}")
    assert not Node.objects.exists()
