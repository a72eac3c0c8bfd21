"""The fleet in memory, kept equal to the database by node versions.

Level-triggered: `sync` compares the versions of all nodes (triggers raise them) and reloads what differs, so
that a lost message costs a delay and nothing else.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from console.common import sql
from pool.engine.affinity import Affinity
from pool.engine.fleet import Fleet
from pool.engine.mix import DEFAULT_MIX, TypicalMix
from pool.engine.neighbours import repels_of
from pool.engine.selectors import Labels
from pool.engine.sharing import Weights
from pool.engine.types import Hold, JobRequest, NodeSpec, Placed
from pool.inventory.fleet import node_specs, node_versions
from pool.scheduling.ledger.journal import Journal
from pool.scheduling.models import Allocation
from pool.scheduling.requests import labels_of, repels_of_wishes
from pool.scheduling.sharing.holdings import Holdings


@dataclass(frozen=True, slots=True)
class Held:
    """A live allocation: the engine's hold, whose it is, and whose limits it counts against."""

    hold: Hold
    queue_id: int
    tenant_id: int
    job_id: int
    replica_id: int
    project_id: int


class FleetMirror:
    """One thread owns a mirror. `generation` rises whenever capacity may have grown."""

    def __init__(self, mix: TypicalMix = DEFAULT_MIX, weights: Weights | None = None) -> None:
        self.fleet = Fleet.build([], mix=mix)
        self.holdings = Holdings(weights)
        self.versions: dict[int, int] = {}
        self.specs: dict[int, NodeSpec] = {}
        self.held: dict[int, dict[int, Held]] = {}  # node -> allocation -> Held
        self.queue_bp: Counter[int] = Counter()
        self.tenant_bp: Counter[int] = Counter()
        self.project_bp: Counter[int] = Counter()
        self.generation = 0
        self.dirty: set[int] = set()
        # node -> job, or minus the key of a window -> what is held for it
        self.pledged: dict[int, dict[int, tuple[Hold, ...]]] = {}
        self._aside: frozenset[int] = frozenset()  # of those, the ones whose holds are lifted at the moment
        self._coming: dict[int, list[Hold]] = {}  # node -> what this pass placed there and has not stored yet
        self.journal: Journal | None = None  # told of every change of the fleet

    def sync(self) -> set[int]:
        """Bring the mirror up to date with all nodes. One query when nothing changed.

        Returns the nodes whose own description (not only what they hold) changed.
        """
        return self.sync_nodes(self.changed())

    def changed(self) -> set[int]:
        """The nodes that `sync_nodes` has to read; nodes that are gone are dropped at once. One query."""
        versions = node_versions()
        for node in self.versions.keys() - versions.keys():
            self._remove(node)
        differing = {node for node, version in versions.items() if self.versions.get(node) != version}
        return differing | (self.dirty & versions.keys())

    def sync_nodes(self, node_ids: Iterable[int]) -> set[int]:
        """Reload these nodes: what changed there is taken into the fleet. Returns like `sync`."""
        wanted = set(node_ids)
        if not wanted:
            return set()
        before = {node: self.specs.get(node) for node in wanted}
        every = not self.specs
        specs = node_specs(None if every else wanted)
        held = live_allocations(None if every else wanted)
        if every:
            self._build(specs, held)
        else:
            for node, (version, spec) in specs.items():
                self._update(node, version, spec, held.get(node, {}))
        self.dirty -= wanted
        self.generation += 1
        return {node for node, spec in before.items() if self.specs.get(node) != spec}

    def apply(self, placed: Placed, asked: JobRequest) -> tuple[Hold, ...]:
        """Hold what a decision placed. Raises like Fleet.apply."""
        repels = repels_of(asked)
        holds = self.fleet.apply(placed, asked.tenant, asked.trust_group, asked.labels, repels)
        if self.journal is not None:
            for hold in holds:
                self.journal.took(hold)
        return holds

    def release(self, holds: Iterable[Hold]) -> None:
        """Give back what is held only in memory."""
        for hold in holds:
            if self.fleet.release(hold) and self.journal is not None:
                self.journal.gave(hold)

    def committed(self, node: int, rows: dict[int, Held], version: int) -> None:
        """Take in what this process itself has just committed on `node`.

        The engine's fleet holds it already. Another writer in between shows as a version that is higher than
        our own rows explain; then the node is reloaded at the next sync.
        """
        self.held.setdefault(node, {}).update(rows)
        self._count(rows.values(), 1)
        expected = self.versions.get(node, -1) + len(rows)
        self.versions[node] = version if version == expected else -1
        if version != expected:
            self.dirty.add(node)

    def pledge(self, job: int, holds: Iterable[Hold]) -> None:
        """Hold these for a job although others still have them: nobody else is placed there, also when they leave."""
        for hold in holds:
            here = self.pledged.setdefault(hold.node_key, {})
            here[job] = (*here.get(job, ()), hold)
        self._rewrite(node for node, jobs in self.pledged.items() if job in jobs)

    def unpledge(self, job: int) -> None:
        nodes = [node for node, jobs in self.pledged.items() if job in jobs]
        for node in nodes:
            del self.pledged[node][job]
            if not self.pledged[node]:
                del self.pledged[node]
        self._rewrite(nodes)
        self.generation += bool(nodes)

    @contextmanager
    def lifted(self, keys: Collection[int]) -> Iterator[None]:
        """Inside, what is held for these is free (of what others do not hold): for whoever may be placed there. What is
        placed inside must be told by `coming`, or it is forgotten at the end."""
        nodes = [node for node, jobs in self.pledged.items() if not jobs.keys().isdisjoint(keys)]
        self._aside = frozenset(keys)
        self._rewrite(nodes)
        try:
            yield
        finally:
            self._aside = frozenset()
            self._rewrite(nodes)

    def coming(self, holds: Iterable[Hold], sign: int = 1) -> None:
        """The fleet holds these, and the database will soon (`sign` -1: it does now, or will not)."""
        if sign < 0 and not self._coming:
            return
        for hold in holds:
            here = self._coming.setdefault(hold.node_key, [])
            if sign > 0:
                here.append(hold)
            elif hold in here:
                here.remove(hold)
            if not here:
                del self._coming[hold.node_key]

    def cards_of(self, keys: Collection[int]) -> frozenset[int]:
        """What is held for these."""
        return frozenset(
            hold.device_key
            for jobs in self.pledged.values()
            for key in keys
            for hold in jobs.get(key, ())
            if hold.device_key is not None
        )

    def _rewrite(self, nodes: Iterable[int]) -> None:
        for node in nodes:
            if node in self.specs:
                self._replace(node, self._holds(node, self.held.get(node, {})))

    def _replace(self, node: int, holds: list[Hold]) -> None:
        self.fleet.replace_node(self.specs[node], holds)
        if self.journal is not None:
            self.journal.is_now(self.specs[node], holds)

    def _holds(self, node: int, rows: dict[int, Held]) -> list[Hold]:
        cards = {None, *(card.key for card in self.specs[node].devices)} if node in self.pledged else set()
        promised = [
            hold
            for key, holds in self.pledged.get(node, {}).items()
            if key not in self._aside
            for hold in holds
            if hold.device_key in cards
        ]
        return [*(row.hold for row in rows.values()), *self._coming.get(node, ()), *promised]

    def _build(self, specs: dict[int, tuple[int, NodeSpec]], held: dict[int, dict[int, Held]]) -> None:
        holds = [row.hold for rows in held.values() for row in rows.values()]
        self.fleet = Fleet.build([spec for _, spec in specs.values()], holds, self.fleet.mix)
        self.specs = {node: spec for node, (_, spec) in specs.items()}
        self.versions = {node: version for node, (version, _) in specs.items()}
        self.held = held
        self.queue_bp, self.tenant_bp, self.project_bp = Counter(), Counter(), Counter()
        self.holdings = Holdings(self.holdings.weights)
        self.holdings.learn(self.specs.values())
        for rows in held.values():
            self._count(rows.values(), 1)
        if self.journal is not None:  # there was no node when the chain began
            for node, spec in self.specs.items():
                self.journal.is_now(spec, self._holds(node, held.get(node, {})))

    def _update(self, node: int, version: int, spec: NodeSpec, rows: dict[int, Held]) -> None:
        old = self.held.get(node, {})
        self._count(old.values(), -1)
        self.holdings.learn([spec])
        self._count(rows.values(), 1)
        if self.specs.get(node) == spec and node not in self.pledged:
            # give back before taking: both may name the same card
            self.release(old[key].hold for key in old.keys() - rows.keys())
            self.specs[node], self.versions[node], self.held[node] = spec, version, rows
            try:
                for key in rows.keys() - old.keys():
                    self._take(rows[key].hold)
            except ValueError:  # the fleet knew other things: put the truth in its place
                self._replace(node, [row.hold for row in rows.values()])
            return
        self.specs[node], self.versions[node], self.held[node] = spec, version, rows
        self._replace(node, self._holds(node, rows))

    def _take(self, hold: Hold) -> None:
        self.fleet.take(hold)
        if self.journal is not None:
            self.journal.took(hold)

    def _remove(self, node: int) -> None:
        self._count(self.held.pop(node, {}).values(), -1)
        self.fleet.remove_node(node)
        if self.journal is not None:
            self.journal.is_gone(node)
        del self.versions[node], self.specs[node]

    def _count(self, rows: Iterable[Held], sign: int) -> None:
        for row in rows:
            self.queue_bp[row.queue_id] += sign * row.hold.share_bp
            self.tenant_bp[row.tenant_id] += sign * row.hold.share_bp
            self.project_bp[row.project_id] += sign * row.hold.share_bp
            self.holdings.count(row.queue_id, row.job_id, row.hold, sign)


def live_allocations(node_ids: Iterable[int] | None) -> dict[int, dict[int, Held]]:
    """Node -> allocation -> Held, of all nodes or of these. One query."""
    where, values = ("1 = 1", []) if node_ids is None else sql.among("a.node_id", list(node_ids))
    found: dict[int, dict[int, Held]] = {}
    for pk, node, queue, tenant, job, replica, project, public_id, group, device, *rest in sql.fetch(
        _LIVE.format(where=where), *values
    ):
        hold = _hold(device, node, public_id, group, rest)
        found.setdefault(node, {})[pk] = Held(hold, queue, tenant, job, replica, project)
    return found


_LIVE = (
    "SELECT a.id, a.node_id, j.queue_id, a.tenant_id, a.job_id, a.replica_id, j.project_id, t.public_id, t.trust_group,"
    " a.device_id, a.share_bp, a.memory_mib, a.isolation, a.mig_profile, a.mig_start, a.mig_size,"
    " a.cpu_milli, a.host_memory_mib, j.labels, j.wishes"
    " FROM scheduling_allocation a JOIN scheduling_job j ON j.id = a.job_id"
    " JOIN tenants_tenant t ON t.id = a.tenant_id WHERE a.released_at IS NULL AND {where}"
)


def _hold(device: int | None, node: int, tenant: str, group: str, rest: Sequence[Any]) -> Hold:
    share, memory, isolation, profile, start, size, cpu, host, labels, wishes = rest
    return Hold(
        device_key=device,
        node_key=node,
        share_bp=share,
        memory_mib=memory,
        isolation=isolation,
        mig_profile=profile,
        mig_start=start,
        mig_size=size,
        tenant=tenant,
        trust_group=group or tenant,
        cpu_milli=cpu,
        host_memory_mib=host,
        labels=_labels(labels),
        repels=_repels(wishes),
    )


@lru_cache(maxsize=4096)
def _labels(text: str) -> Labels:
    return labels_of(orjson.loads(text))


@lru_cache(maxsize=1024)
def _repels(text: str) -> tuple[Affinity, ...]:
    return repels_of_wishes(orjson.loads(text))


def hold_of(row: Allocation, job: JobRequest) -> Hold:
    """Of an allocation that was just made for a job."""
    return Hold(
        device_key=row.device_id,
        node_key=row.node_id,
        share_bp=row.share_bp,
        memory_mib=row.memory_mib,
        isolation=row.isolation,
        mig_profile=row.mig_profile,
        mig_start=row.mig_start,
        mig_size=row.mig_size,
        tenant=job.tenant,
        trust_group=job.trust_group,
        cpu_milli=row.cpu_milli,
        host_memory_mib=row.host_memory_mib,
        labels=job.labels,
        repels=repels_of(job),
    )
