"""Wake-ups after commit. Each may be lost or doubled: the sweeps find the same work again."""

from collections.abc import Iterable

from django.db import transaction

from console.common.sending import send


def scheduler(job_ids: Iterable[int] = (), node_ids: Iterable[int] = ()) -> None:
    """New or changed jobs, and nodes where capacity changed."""
    jobs, nodes = sorted(set(job_ids)), sorted(set(node_ids))
    transaction.on_commit(lambda: _send("wake", jobs, nodes))


def gateways(node_ids: Iterable[int]) -> None:
    """Nodes that have commands waiting in the outbox."""
    nodes = sorted(set(node_ids))
    if nodes:
        transaction.on_commit(lambda: _send("relay_commands", nodes))


def _send(name: str, *args: list[int]) -> None:
    from pool.scheduling import tasks  # Celery discovers tasks after the apps are ready

    send(getattr(tasks, name), *args)
