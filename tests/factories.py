"""Rows for tests, made plainly. Every factory returns a saved row."""

from itertools import count
from typing import Any

from console.common import clock
from console.tenants.models import Membership, Project, Tenant, User
from pool.inventory.models import Device, DeviceModel, Domain, Node, Site
from pool.scheduling.models import Job, JobRole, Queue

_numbers = count(1)
KNOWN = {
    "H100-80GB": ("nvidia", 81559, "H100-80GB"),
    "A100-40GB": ("nvidia", 40960, "A100-40GB"),
    "T4": ("nvidia", 15360, ""),
}


def make_user(email: str = "", role: str = "") -> User:
    email = email or f"user{next(_numbers)}@example.test"
    return User.objects.create_user(username=email, email=email, password="a long pass phrase 1", platform_role=role)


def make_tenant(slug: str = "", **more: Any) -> Tenant:
    slug = slug or f"tenant-{next(_numbers)}"
    tenant = Tenant.objects.create(slug=slug, name=slug.title(), **more)
    make_project(tenant)
    make_queue(tenant)
    return tenant


def make_project(tenant: Tenant, slug: str = "default") -> Project:
    return Project.objects.create(tenant=tenant, slug=slug, name=slug)


def make_queue(tenant: Tenant, name: str = "default", **more: Any) -> Queue:
    return Queue.objects.create(tenant=tenant, name=name, **more)


def make_member(tenant: Tenant, role: str = "member", email: str = "") -> User:
    user = make_user(email)
    Membership.objects.create(user=user, tenant=tenant, role=role)
    return user


def make_site(name: str = "cn-sz-1") -> Site:
    return Site.objects.get_or_create(name=name)[0]


def make_model(name: str = "H100-80GB") -> DeviceModel:
    vendor, memory, family = KNOWN[name]
    values = {"vendor": vendor, "memory_mib": memory, "mig_family": family}
    return DeviceModel.objects.get_or_create(name=name, defaults=values)[0]


def make_node(
    name: str = "",
    site: Site | None = None,
    devices: int = 8,
    model: str = "H100-80GB",
    mig: bool = False,
    rack: str = "r01",
    reachable: bool = True,
    **more: Any,
) -> Node:
    site = site or make_site()
    name = name or f"node-{next(_numbers):04d}"
    domain = Domain.objects.get_or_create(site=site, kind="rack", name=rack)[0]
    facts: dict[str, Any] = {"cpu_milli": 128_000, "memory_mib": 1_048_576, **more}
    node = Node.objects.create(name=name, site=site, rack=domain, reachable=reachable, **facts)
    kind = make_model(model)
    for index in range(devices):
        Device.objects.create(
            node=node,
            index=index,
            uuid=f"GPU-{name}-{index}",
            model=kind,
            memory_mib=kind.memory_mib,
            mig_enabled=mig,
            nvlink_island=0,
        )
    return node


def make_job(tenant: Tenant | None = None, **more: Any) -> Job:
    """A queued job with one role of one whole card; not through submit_job."""
    tenant = tenant or make_tenant()
    now = clock.now()
    values: dict[str, Any] = {
        "name": f"job-{next(_numbers)}",
        "project": tenant.projects.first(),
        "queue": tenant.queues.first(),
        "spec": {},
        "command": ["true"],
        "created_at": now,
        "queued_at": now,
        "total_share_bp": 10000,
        **more,
    }
    job = Job.objects.create(tenant=tenant, **values)
    JobRole.objects.create(
        job=job,
        name="worker",
        position=0,
        replicas=1,
        min_replicas=1,
        max_replicas=1,
        devices=1,
        share_bp=10000,
        isolation="exclusive",
    )
    return job
