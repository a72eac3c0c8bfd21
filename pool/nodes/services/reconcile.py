"""Two lists of what runs on a node, ours and its own, made one: adopted, lost and unknown are told apart."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction

from pool.agent.protocol import State
from pool.nodes.services.sessions import hold_session
from pool.scheduling import services as scheduling
from pool.scheduling.models import NodeCommand, Replica, ReplicaState
from pool.scheduling.states import REPLICA_FINAL


@dataclass(slots=True)
class Difference:
    """Replica ids. `unknown`: runs there and must not; `missing`: should be there and is not; `adopted`: both agree."""

    unknown: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    adopted: list[str] = field(default_factory=list)


def compare(listed: Mapping[int, Mapping[str, State]]) -> dict[int, Difference]:
    """For nodes by id, what each lists against what we hold. Two queries, whatever their number.

    A replica whose start the node has not confirmed is not missing: its command may be on the way.
    """
    held: dict[int, dict[str, str]] = {node_id: {} for node_id in listed}
    rows = Replica.objects.filter(node_id__in=list(listed)).exclude(state__in=REPLICA_FINAL)
    for node_id, replica, state in rows.values_list("node_id", "public_id", "state"):
        held[node_id][replica] = state
    absent = [name for node_id, ours in held.items() for name in ours if name not in listed[node_id]]
    confirmed = _confirmed(absent)
    found = {}
    for node_id, ours in held.items():
        theirs = listed[node_id]
        found[node_id] = Difference(
            unknown=[name for name, state in theirs.items() if name not in ours and state != State.EXITED],
            missing=[
                name
                for name, state in ours.items()
                if name not in theirs and (state == ReplicaState.RUNNING or name in confirmed)
            ],
            adopted=[name for name in theirs if name in ours],
        )
    return found


def _confirmed(replicas: Iterable[str]) -> set[str]:
    names = list(replicas)
    if not names:
        return set()
    done = NodeCommand.objects.filter(
        replica__public_id__in=names, kind=NodeCommand.Kind.START, state=NodeCommand.State.DONE
    )
    return set(done.values_list("replica__public_id", flat=True))


def lose_replica(node_id: int, session: int, replica: str, proof_at: datetime, now: datetime, reason: str) -> bool:
    """The node lives and has nothing of this replica: it ended at its last proof of life. Raises StaleSession."""
    with transaction.atomic():
        hold_session(node_id, session)
        return scheduling.replica_ended(
            replica,
            received_at=now,
            age_us=max(0, (now - proof_at) // timedelta(microseconds=1)),
            exit_code=None,
            detail=reason,
            result="lost",
        )
