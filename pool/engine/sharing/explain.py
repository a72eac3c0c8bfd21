"""Why a queue is entitled to what it is: the parts, and what holds it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
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
    lines = []
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
                bound=bound(shares, key),
            )
        )
    return lines


def bound(shares: Entitlements, key: int) -> Bound:
    """What bounds a queue in the resource of which it gets the smallest part of its demand."""
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
        found = _among_siblings(shares, queue, r)
        if found is not None:
            return found
    return Bound("capacity", RESOURCES[r], shares.tree.path[key][-1])


def _among_siblings(shares: Entitlements, queue: int, r: int) -> Bound | None:
    """What bounds a queue in its parent's budget; None if it got there all that it wants."""
    share, tree, resource = shares.shares[queue], shares.tree, RESOURCES[r]
    if share.budget[r] >= share.want[r]:
        return None
    spec = tree.specs[queue]
    others = [key for key in tree.children[spec.parent] if key != queue]
    deserved = min(share.want[r], tree.quota[queue][r])
    if share.budget[r] < deserved:
        return Bound("scaled", resource, queue)
    if shares.weights[queue] == 0:
        return Bound("no_weight", resource, queue)
    keepers = [key for key in others if shares.shares[key].withheld[r] > 0]
    if keepers:
        return Bound("lending", resource, max(keepers, key=lambda key: (shares.shares[key].withheld[r], -key)))
    above = [key for key in others if _takes(shares, key, r) and tree.specs[key].bucket > spec.bucket]
    if above:
        return Bound("priority", resource, max(above, key=lambda key: (tree.specs[key].bucket, -key)))
    if any(_takes(shares, key, r) for key in others):
        return Bound("weight", resource, queue)
    # alone in want here: the parent's own budget is what is short
    return None if spec.parent != ROOT else Bound("capacity", resource, queue)


def _takes(shares: Entitlements, key: int, r: int) -> bool:
    """Whether a queue gets more than its quota covers."""
    return shares.shares[key].over_quota[r] > 0
