"""The tree of queues as the engine sees it.

Jobs may wait in any queue, also in one that has others below it: its own work then stands beside them as one more
leaf, with what its quota leaves over after theirs.
"""

from collections.abc import Iterable, Mapping

from pool.engine.sharing import ROOT, Amounts, QueueSpec, Tree
from pool.engine.sharing.amounts import PLAIN
from pool.engine.sharing.tree import Optional
from pool.scheduling.models import Queue


class Layout:
    """Queues by primary key, and the engine's keys of them."""

    def __init__(self, queues: Mapping[int, Queue]) -> None:
        self.parents = {queue.parent_id for queue in queues.values() if queue.parent_id in queues}
        self.specs = tuple(_specs(queues, self.parents))
        # limits of other queues than the job's own, and what is never lent, bind even while cards are free
        self.binds = any(
            any(value is not None for value in (*spec.limit[1:], *spec.lending_limit)) for spec in self.specs
        ) or any(queues[key].limit_share_bp is not None for key in self.parents if key is not None)

    def tree(self, capacity: Amounts) -> Tree:
        return Tree(self.specs, capacity)

    def leaf(self, queue_id: int) -> int:
        """Where the jobs of a queue stand."""
        return queue_id * 2 + (queue_id in self.parents)


def key_of(queue_id: int) -> int:
    """The engine's key of a queue; the one after it is that of its own work."""
    return queue_id * 2


def queue_of(key: int) -> int:
    """The queue of either key."""
    return key // 2


def _specs(queues: Mapping[int, Queue], parents: Iterable[int | None]) -> Iterable[QueueSpec]:
    taken: dict[int, list[int]] = {}
    for queue in queues.values():
        if queue.parent_id in queues:
            quota = taken.setdefault(queue.parent_id, [0, 0, 0, 0])  # type: ignore[arg-type]
            for at, value in enumerate(_quota(queue)):
                quota[at] += value or 0
    for queue in queues.values():
        quota_of = _quota(queue)
        parent = key_of(queue.parent_id) if queue.parent_id in queues else ROOT  # type: ignore[arg-type]
        yield QueueSpec(
            key_of(queue.pk),
            parent,
            quota_of,
            _limit(queue),
            (None if queue.lending_limit_bp is None else queue.lending_limit_bp * PLAIN, None, None, None),
            int(queue.over_quota_weight * 1000),
            queue.priority,
        )
        if queue.pk in parents:
            yield QueueSpec(key_of(queue.pk) + 1, key_of(queue.pk), _left(quota_of, taken[queue.pk]))


def _quota(queue: Queue) -> Optional:
    return (queue.quota_share_bp * PLAIN, queue.quota_gpu_memory_mib, queue.quota_cpu_milli, queue.quota_memory_mib)


def _limit(queue: Queue) -> Optional:
    cards = None if queue.limit_share_bp is None else queue.limit_share_bp * PLAIN
    return (cards, queue.limit_gpu_memory_mib, queue.limit_cpu_milli, queue.limit_memory_mib)


def _left(quota: Optional, taken: list[int]) -> Optional:
    left = [None if value is None else max(0, value - below) for value, below in zip(quota, taken, strict=True)]
    return (left[0], left[1], left[2], left[3])
