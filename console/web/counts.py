"""The small numbers beside navigation entries: four indexed counts, each scoped by the actor."""

from console.common.actor import Actor
from pool.inventory import queries as inventory
from pool.scheduling import queries as scheduling
from pool.scheduling.models import Queue
from pool.scheduling.states import JOB_ACTIVE, JobState


def for_actor(actor: Actor) -> dict[str, int]:
    """`jobs` counts what waits or runs, not the finished ones."""
    return {
        "jobs": scheduling.jobs_for(actor).filter(state__in=[JobState.QUEUED, *JOB_ACTIVE]).count(),
        # not queues_for: it counts the jobs of each
        "queues": Queue.objects.filter(scheduling.own(actor)).count(),
        "nodes": inventory.nodes_for(actor).count(),
        "sites": inventory.sites_for(actor).count(),
    }
