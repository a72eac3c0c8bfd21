"""Nodes that fall silent: first no new work, then, when their lease is certainly over, their work is lost."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q

from pool.inventory.models import Node
from pool.inventory.services import remember
from pool.nodes.models import Agent
from pool.scheduling import services as scheduling
from pool.scheduling.models import Replica
from pool.scheduling.states import REPLICA_FINAL

SILENT = "the node gave no sign of life until its lease ran out"


@dataclass(frozen=True, slots=True)
class Silent:
    """A node with live replicas that is not connected here. `last_report_at` is what the database has."""

    node_id: int
    session: int
    connected: bool
    last_report_at: datetime


def stale_nodes(now: datetime, stale_s: float, mine: Collection[int]) -> dict[int, datetime | None]:
    """Reachable nodes of other gateways, or of none, without a report for longer than `stale_s`; each with the
    time of its last one."""
    old = Q(agent__last_report_at__lt=now - timedelta(seconds=stale_s)) | Q(agent__last_report_at__isnull=True)
    nodes = Node.objects.filter(old, reachable=True).values_list("pk", "agent__last_report_at")
    return {node_id: at for node_id, at in nodes if node_id not in mine}


def silent_nodes(now: datetime, lost_s: float, mine: Collection[int]) -> list[Silent]:
    """Candidates for `lose_node`; the caller knows how far the database may lag behind for each."""
    live = Replica.objects.filter(node_id=OuterRef("node_id")).exclude(state__in=REPLICA_FINAL)
    agents = Agent.objects.filter(Exists(live), last_report_at__lt=now - timedelta(seconds=lost_s))
    rows = agents.values_list("node_id", "session", "connected", "last_report_at")
    return [Silent(node, session, on, at) for node, session, on, at in rows if at and node not in mine]


def lose_node(silent: Silent, proof_at: datetime, now: datetime) -> int:
    """Ends everything on the node at its last proof of life. Returns how many replicas; 0 when it came back.

    Raises the session first, so that an old connection that still speaks is refused from here on.
    """
    agents = Agent.objects.filter(node_id=silent.node_id, session=silent.session)
    still = agents.filter(last_report_at=silent.last_report_at)
    with transaction.atomic():
        if not still.update(session=F("session") + 1, connected=False):
            return 0
        if Node.objects.filter(pk=silent.node_id, reachable=True).update(reachable=False):
            remember(now, nodes=[silent.node_id], since={silent.node_id: proof_at})
    return scheduling.replicas_lost(silent.node_id, last_proof_at=proof_at, now=now, reason=SILENT)


def known_proofs(silent: Collection[Silent], seen: Mapping[int, datetime]) -> dict[int, datetime]:
    """The later of what the database and Valkey know of each node."""
    return {node.node_id: max(node.last_report_at, seen.get(node.node_id, node.last_report_at)) for node in silent}
