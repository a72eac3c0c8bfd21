"""From stored rows to the fleet that a decision was made on."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any
from zlib import decompress, error

import orjson

from pool.engine.affinity import Affinity
from pool.engine.fleet import Fleet
from pool.engine.freezing import Frozen, thaw
from pool.engine.labelled import Carried, Repelled
from pool.engine.mix import TypicalMix
from pool.engine.sharing import Amounts, QueueSpec
from pool.engine.types import Hold, JobRequest, NodeSpec
from pool.scheduling.ledger import codec
from pool.scheduling.ledger import journal as j
from pool.scheduling.models import LedgerBase, LedgerSegment


class Lost(Exception):
    """What was recorded is not all there, or not what was stored. `code` for pages, the message for the command."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True)
class Scene:
    """The fleet at one moment of a chain, and what numbers stand for."""

    fleet: Fleet
    owners: dict[int, tuple[str, str]] = field(default_factory=dict)
    requests: dict[int, JobRequest] = field(default_factory=dict)
    trees: dict[int, tuple[tuple[QueueSpec, ...], Amounts]] = field(default_factory=dict)


def place_of(snapshot: str) -> tuple[int, int]:
    """Chain and number of changes of a decision's `snapshot`. Raises Lost for one from before the ledger."""
    base, dot, changes = snapshot.partition(".")
    if not (dot and base.isdecimal() and changes.isdecimal()):
        raise Lost("before", f"snapshot {snapshot!r}: the decision was made before there was a ledger")
    return int(base), int(changes)


def base_of(pk: int) -> LedgerBase:
    base = LedgerBase.objects.filter(pk=pk).first()
    if base is None:
        raise Lost("pruned", f"chain {pk} is no longer kept: what it began with was pruned")
    if blake2b(bytes(base.content), digest_size=16).hexdigest() != base.digest:
        raise Lost("torn", f"chain {pk}: its beginning is not what was stored")
    return base


def scene_at(base: LedgerBase, changes: int) -> Scene:
    """The fleet after so many changes. Raises Lost, never guesses."""
    scene = Scene(_begin(bytes(base.content)))
    head, seq, done = base.digest, 0, 0
    for segment in _segments(base):
        if done >= changes:
            break
        if segment.seq != seq or segment.first != done:
            break
        if j.chained(head, segment.ops) != segment.digest:
            raise Lost("torn", f"chain {base.pk}: part {segment.seq} is not what was stored")
        for entry in orjson.loads(segment.ops)[: changes - done]:
            _apply(scene, entry)
        done += segment.count
        head, seq = segment.digest, seq + 1
    if done < changes:
        raise Lost("torn", f"chain {base.pk}: part {seq} is missing; {done} of {changes} changes are there")
    return scene


def _segments(base: LedgerBase) -> Iterable[LedgerSegment]:
    return base.segments.order_by("seq").iterator(chunk_size=500)


def _begin(content: bytes) -> Fleet:
    try:
        plain = decompress(content)
    except error as wrong:
        raise Lost("torn", f"the beginning of the chain cannot be unpacked: {wrong}") from wrong
    end = 8 + int.from_bytes(plain[:8], "big")
    told = orjson.loads(plain[8:end])
    nodes = [codec.read(NodeSpec, node) for node in told["nodes"]]
    free = len(nodes) * 8 * 2
    frozen = Frozen(
        told["columns"],
        plain[end + free :],
        plain[end : end + free],
        tuple(told["trust"]),
        codec.read(tuple[Carried, ...], told["carried"]),
        codec.read(tuple[Repelled, ...], told["repelled"]),
    )
    return thaw(nodes, codec.read(TypicalMix, told["mix"]), frozen)


def _apply(scene: Scene, entry: list[Any]) -> None:
    kind, rest = entry[0], entry[1:]
    if kind == j.TAKE:
        scene.fleet.take(_hold(scene, rest))
    elif kind == j.GIVE:
        scene.fleet.release(_hold(scene, rest))
    elif kind == j.NODE:
        holds = [_hold(scene, each) for each in rest[1]]
        scene.fleet.replace_node(codec.read(NodeSpec, rest[0]), holds)
    elif kind == j.GONE:
        scene.fleet.remove_node(rest[0])
    elif kind == j.OWNER:
        scene.owners[rest[0]] = (rest[1], rest[2])
    elif kind == j.REQUEST:
        scene.requests[rest[0]] = codec.read(JobRequest, rest[1])
    elif kind == j.TREE:
        specs, capacity = codec.read(tuple[QueueSpec, ...], rest[1]), codec.read(Amounts, rest[2])
        scene.trees[rest[0]] = (specs, capacity)
    else:
        raise Lost("torn", f"{kind!r} is no change that this version knows")


def _hold(scene: Scene, line: list[Any]) -> Hold:
    device, node, share, memory, cpu, host, isolation, owner, *rest = line
    profile, start, size, labels, repels = rest + ["", -1, 0, (), ()][len(rest) :]
    tenant, group = scene.owners[owner]
    return Hold(
        device_key=device,
        node_key=node,
        share_bp=share,
        memory_mib=memory,
        isolation=j.ISOLATIONS[isolation],
        mig_profile=profile,
        mig_start=start,
        mig_size=size,
        tenant=tenant,
        trust_group=group,
        cpu_milli=cpu,
        host_memory_mib=host,
        labels=tuple((key, value) for key, value in labels),
        repels=codec.read(tuple[Affinity, ...], repels),
    )
