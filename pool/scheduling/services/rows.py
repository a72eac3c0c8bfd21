"""From a placement to unsaved rows."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from pool.engine.types import DevicePlacement, Placed, ReplicaPlacement
from pool.inventory.models import Device, Node
from pool.scheduling.models import Allocation, Attempt, Interval, Job, JobRole, NodeCommand, Replica
from pool.scheduling.services.commands import new_command
from pool.scheduling.services.stopping import GRACE_S
from pool.scheduling.shares import part_of

Pair = tuple[Replica, ReplicaPlacement]


def replica_rows(job: Job, roles: Sequence[JobRole], attempt: Attempt, placed: Placed, now: datetime) -> list[Pair]:
    """Replicas with ranks 0.. over all roles, in the order of the roles."""
    by_name = {role.name: role for role in roles}
    order = {role.name: role.position for role in roles}
    parts = sorted(placed.replicas, key=lambda part: (order[part.role], part.rank))
    return [
        (
            Replica(
                attempt=attempt, job=job, role=by_name[part.role], rank=rank, node_id=part.node_key, assigned_at=now
            ),
            part,
        )
        for rank, part in enumerate(parts)
    ]


def allocation_rows(replica: Replica, part: ReplicaPlacement, epoch: int, now: datetime) -> Iterator[Allocation]:
    """One row a device part, and one for the node's CPU and memory if any is asked."""
    common: dict[str, Any] = {
        "replica": replica,
        "job": replica.job,
        "tenant_id": replica.job.tenant_id,
        "node_id": part.node_key,
        "epoch": epoch,
        "created_at": now,
    }
    for device in part.devices:
        yield Allocation(
            device_id=device.device_key,
            isolation=device.isolation,
            share_bp=device.share_bp,
            memory_mib=device.memory_mib,
            mig_profile=device.mig_profile,
            mig_start=device.mig_start,
            mig_size=device.mig_size,
            **common,
        )
    if part.cpu_milli or part.host_memory_mib:
        yield Allocation(isolation="host", cpu_milli=part.cpu_milli, host_memory_mib=part.host_memory_mib, **common)


def interval_row(allocation: Allocation, device: Device, node: Node) -> Interval:
    """Open from the moment of allocation, with all that billing needs."""
    job = allocation.job
    part = part_of(
        device.model.mig_family,
        allocation.mig_profile,
        allocation.share_bp,
        allocation.memory_mib,
        device.memory_mib,
    )
    return Interval(
        allocation=allocation,
        started_at=allocation.created_at,
        job=job,
        tenant_id=job.tenant_id,
        project_id=job.project_id,
        queue_id=job.queue_id,
        site_id=node.site_id,
        device=device,
        model_name=device.model.name,
        vendor=device.model.vendor,
        isolation=allocation.isolation,
        share_bp=allocation.share_bp,
        memory_mib=allocation.memory_mib,
        device_memory_mib=device.memory_mib,
        mig_profile=allocation.mig_profile,
        compute_num=part.compute_num,
        compute_den=part.compute_den,
        memory_num=part.memory_num,
        memory_den=part.memory_den,
    )


def start_commands(
    pairs: Sequence[Pair], devices: Mapping[int, Device], nodes: Mapping[int, Node], epoch: int, now: datetime
) -> Iterator[NodeCommand]:
    """One start a replica; a gang's commands are written together, so that it starts together."""
    peers = [
        {"rank": replica.rank, "node": nodes[part.node_key].name, "address": _address(nodes[part.node_key])}
        for replica, part in pairs
    ]
    for replica, part in pairs:
        job = replica.job
        payload = {
            "replica": replica.public_id,
            "job": job.public_id,
            "job_name": job.name,
            "attempt": replica.attempt.number,
            "rank": replica.rank,
            "world_size": len(pairs),
            "role": part.role,
            "role_rank": part.rank,
            "command": job.command,
            "environment": job.environment,
            "devices": [_device(devices[item.device_key], item) for item in part.devices],
            "peers": peers if len(peers) > 1 else [],
            "grace_s": GRACE_S,
            "cpu_milli": part.cpu_milli,
            "memory_mib": part.host_memory_mib,
        }
        yield new_command(replica, NodeCommand.Kind.START, payload, epoch, now)


def _address(node: Node) -> str:
    """Where peers reach the node: its label, or its name, which the site resolves."""
    return str(node.labels.get("address") or node.name)


def _device(device: Device, item: DevicePlacement) -> dict[str, Any]:
    return {
        "index": device.index,
        "uuid": device.uuid,
        "model": device.model.name,
        "share_bp": item.share_bp,
        "memory_mib": item.memory_mib,
        "isolation": item.isolation,
        "mig_profile": item.mig_profile,
        "mig_start": item.mig_start,
        "mig_size": item.mig_size,
    }
