"""A bound of the tree of queues as a limit that pages tell."""

from collections.abc import Mapping

from pool.engine.sharing import Barred
from pool.engine.sharing.amounts import PLAIN
from pool.scheduling.limits import Limit
from pool.scheduling.models import Queue
from pool.scheduling.sharing.layout import queue_of
from pool.scheduling.waiting import Waiting

_KINDS = {
    "gpu": "share_bp",
    "gpu_memory_mib": "gpu_memory_mib",
    "cpu_milli": "cpu_milli",
    "host_memory_mib": "memory_mib",
}


def limit_of(barred: Barred, item: Waiting, queues: Mapping[int, Queue]) -> Limit:
    """`scope`: queue (its own), above (one that its own is below), lending (quota that another queue never lends).

    `tenant_id` of the named queue goes along, so that only those who may see it are told its name (telling.py).
    """
    pk = queue_of(barred.queue)
    scope = "lending" if barred.kind == "lending" else "queue" if pk == item.queue_id else "above"
    per = PLAIN if barred.resource == "gpu" else 1
    queue = queues[pk]
    foreign = queue.tenant_id != item.tenant_id
    return Limit(scope, queue.name, _KINDS[barred.resource], barred.most // per, barred.used // per, foreign)
