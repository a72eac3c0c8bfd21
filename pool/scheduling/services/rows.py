"""From a placement to unsaved rows."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from console.common import bulk
from pool.engine.types import DevicePlacement, Placed, ReplicaPlacement
from pool.scheduling.facts import DeviceFacts, Facts
from pool.scheduling.models import Allocation, Attempt, Interval, NodeCommand, Replica
from pool.scheduling.services.commands import new_command
from pool.scheduling.services.stopping import GRACE_S
from pool.scheduling.shares import part_of
from pool.scheduling.waiting import Waiting

Pair = tuple[Replica, ReplicaPlacement]


def replica_rows(job: Waiting, attempt: Attempt, placed: Placed, now: datetime) -> list[Pair]:
    """Replicas with ranks 0.. over all roles, in the order of the roles."""
    order = {name: position for position, name in enumerate(job.role_ids)}
    parts = sorted(placed.replicas, key=lambda part: (order[part.role], part.rank))
    return [
        (
            bulk.new(
                Replica,
                attempt=attempt,
                job_id=job.pk,
                role_id=job.role_ids[part.role],
                rank=rank,
                node_id=part.node_key,
                assigned_at=now,
            ),
            part,
        )
        for rank, part in enumerate(parts)
    ]


def allocation_rows(job: Waiting, pair: Pair, epoch: int, now: datetime) -> Iterator[Allocation]:
    """One row a device part, the first with the CPU and memory of the node; without devices a row for these alone."""
    replica, part = pair
    common: dict[str, Any] = {
        "replica": replica,
        "job_id": job.pk,
        "tenant_id": job.tenant_id,
        "node_id": part.node_key,
        "epoch": epoch,
        "created_at": now,
    }
    of_node = {"cpu_milli": part.cpu_milli, "host_memory_mib": part.host_memory_mib}
    for device in part.devices:
        yield bulk.new(
            Allocation,
            device_id=device.device_key,
            isolation=device.isolation,
            share_bp=device.share_bp,
            memory_mib=device.memory_mib,
            mig_profile=device.mig_profile,
            mig_start=device.mig_start,
            mig_size=device.mig_size,
            **of_node,
            **common,
        )
        of_node = {}
    if any(of_node.values()):
        yield bulk.new(Allocation, isolation="host", **of_node, **common)


def interval_row(job: Waiting, allocation: Allocation, facts: Facts) -> Interval:
    """Open from the moment of allocation, with all that billing needs."""
    device_id = allocation.device_id
    if device_id is None:
        raise ValueError("only parts of devices are billed: a host allocation has no interval")
    device = facts.devices[device_id]
    part = part_of(
        device.mig_family, allocation.mig_profile, allocation.share_bp, allocation.memory_mib, device.memory_mib
    )
    return bulk.new(
        Interval,
        allocation=allocation,
        started_at=allocation.created_at,
        job_id=job.pk,
        tenant_id=job.tenant_id,
        project_id=job.project_id,
        queue_id=job.queue_id,
        site_id=facts.nodes[allocation.node_id].site_id,
        device_id=device_id,
        model_name=device.model,
        vendor=device.vendor,
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
    job: Waiting, pairs: Sequence[Pair], facts: Facts, epoch: int, now: datetime
) -> Iterator[NodeCommand]:
    """One start a replica; a gang's commands are written together, so that it starts together.

    Who a member's peers are is known by the replicas, and said when the command is sent (services/peers.py).
    """
    for replica, part in pairs:
        payload = {
            "replica": replica.public_id,
            "job": job.public_id,
            "job_name": job.name,
            "attempt": job.attempt_count + 1,
            "rank": replica.rank,
            "world_size": len(pairs),
            "role": part.role,
            "role_rank": part.rank,
            "command": job.command,
            "environment": job.environment,
            "devices": [_device(facts.devices[item.device_key], item) for item in part.devices],
            "grace_s": GRACE_S,
            "cpu_milli": part.cpu_milli,
            "memory_mib": part.host_memory_mib,
        }
        yield new_command(replica, NodeCommand.Kind.START, payload, epoch, now)


def _device(device: DeviceFacts, item: DevicePlacement) -> dict[str, Any]:
    return {
        "index": device.index,
        "uuid": device.uuid,
        "model": device.model,
        "share_bp": item.share_bp,
        "memory_mib": item.memory_mib,
        "isolation": item.isolation,
        "mig_profile": item.mig_profile,
        "mig_start": item.mig_start,
        "mig_size": item.mig_size,
    }
