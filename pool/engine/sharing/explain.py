"""Why a queue is entitled to what it is: the parts, and what holds it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from heapq import nsmallest
from typing import Literal

from pool.engine.sharing.amounts import NOTHING, RESOURCES, Amounts
from pool.engine.sharing.entitle import Entitlements
from pool.engine.sharing.tree import ROOT

Kind = Literal["demand", "limit", "lending", "scaled", "priority", "weight", "no_weight", "capacity"]


@dataclass(frozen=True, slots=True)
class Bound:
    """What keeps a queue from more of ``resource``.

    demand: it has all it asks for. limit: that of ``queue`` (itself or one above). lending:
    ``queue`` keeps back quota that it does not use. scaled: the capacity is below the sum of the
    quotas claimed. priority: ``queue``, of a higher bucket, comes first. no_weight: ``queue`` has
    over-quota weight 0. weight: the rest was divided by weights, at ``queue`` and its siblings.
    capacity: it is alone, and there is no more.
    """

    kind: Kind
    resource: str = ""
    queue: int = ROOT


@dataclass(frozen=True, slots=True)
class Standing:
    """One queue's line: what it holds, what it is entitled to, of what that is made up."""

    queue: int
    quota: Amounts
    demand: Amounts
    deserved: Amounts
    over_quota: Amounts
    entitlement: Amounts
    withheld: Amounts
    used: Amounts
    weight: int
    bound: Bound


def standings(shares: Entitlements, used: Mapping[int, Amounts]) -> list[Standing]:
    """A line a queue, parents before their children; ``used`` by queue, as Books.used."""
    lines: list[Standing] = []
    families: Families = {}
    for key in shares.tree.down:
        share = shares.shares[key]
        lines.append(
            Standing(
                queue=key,
                quota=shares.tree.quota[key],
                demand=share.demand,
                deserved=share.deserved,
                over_quota=share.over_quota,
                entitlement=share.entitlement,
                withheld=share.withheld,
                used=used.get(key, NOTHING),
                weight=shares.weights[key],
                bound=bound(shares, key, families),
            )
        )
    return lines


def bound(shares: Entitlements, key: int, families: Families | None = None) -> Bound:
    """What bounds a queue in the resource of which it gets the smallest part of its demand.
    ``families``: a dictionary to share between calls about the same entitlements."""
    share = shares.shares[key]
    short = [r for r in range(4) if share.entitlement[r] < share.demand[r]]
    if not short:
        return Bound("demand")
    r = min(short, key=lambda r: (Fraction(share.entitlement[r], share.demand[r]), r))
    for queue in shares.tree.path[key]:
        limit = shares.tree.specs[queue].limit[r]
        if limit is not None and shares.shares[queue].want[r] >= limit and shares.shares[queue].budget[r] >= limit:
            return Bound("limit", RESOURCES[r], queue)
    for queue in shares.tree.path[key]:
        found = _among_siblings(shares, queue, r, {} if families is None else families)
        if found is not None:
            return found
    return Bound("capacity", RESOURCES[r], shares.tree.path[key][-1])


def _among_siblings(shares: Entitlements, queue: int, r: int, families: Families) -> Bound | None:
    """What bounds a queue in its parent's budget; None if it got there all that it wants."""
    share, tree, resource = shares.shares[queue], shares.tree, RESOURCES[r]
    if share.budget[r] >= share.want[r]:
        return None
    spec = tree.specs[queue]
    if (spec.parent, r) not in families:
        families[spec.parent, r] = _Family.of(shares, spec.parent, r)
    family = families[spec.parent, r]
    if share.budget[r] < min(share.want[r], tree.quota[queue][r]):
        return Bound("scaled", resource, queue)
    if shares.weights[queue] == 0:
        return Bound("no_weight", resource, queue)
    keeper = next((key for key in family.keepers if key != queue), None)
    if keeper is not None:
        return Bound("lending", resource, keeper)
    taker = next((key for key in family.takers if key != queue), None)
    if taker is not None and tree.specs[taker].bucket > spec.bucket:
        return Bound("priority", resource, taker)
    if taker is not None:
        return Bound("weight", resource, queue)
    # alone in want here: the parent's own budget is what is short
    return None if spec.parent != ROOT else Bound("capacity", resource, queue)


@dataclass(frozen=True, slots=True)
class _Family:
    """The children of a parent that keep most back of a resource, and those that get more than their
    quota covers, of the highest bucket first: two of each, so that each child finds another."""

    keepers: tuple[int, ...]
    takers: tuple[int, ...]

    @staticmethod
    def of(shares: Entitlements, parent: int, r: int) -> _Family:
        keys, found, specs = shares.tree.children[parent], shares.shares, shares.tree.specs
        keepers = nsmallest(2, (key for key in keys if found[key].withheld[r]), lambda k: (-found[k].withheld[r], k))
        takers = nsmallest(2, (key for key in keys if found[key].over_quota[r] > 0), lambda k: (-specs[k].bucket, k))
        return _Family(tuple(keepers), tuple(takers))


Families = dict[tuple[int, int], _Family]
