"""Random small trees of queues with demands, and short ways to write them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from pool.engine.sharing import CARD, QueueSpec, Tree

Amounts = tuple[int, int, int, int]


def cards(count: float) -> int:
    """GPU units of reference cards."""
    return int(count * CARD)


def gpu(count: float | None) -> tuple[int | None, None, None, None]:
    """A quota or limit of cards alone."""
    return (None if count is None else cards(count), None, None, None)


def pure(count: float) -> Amounts:
    """An amount of cards alone."""
    return (cards(count), 0, 0, 0)


def queue(key: int, quota: float | None = None, limit: float | None = None, **more: Any) -> QueueSpec:
    """A queue whose quota and limit are in cards."""
    if "lending" in more:
        more["lending_limit"] = gpu(more.pop("lending"))
    return QueueSpec(key, quota=gpu(quota), limit=gpu(limit), **more)


def pool(count: float, *queues: QueueSpec) -> Tree:
    """A pool of so many cards, and plenty of everything else."""
    return Tree(queues, (cards(count), 10**9, 10**9, 10**9))


def as_rows(tree: Tree) -> list[dict[str, Any]]:
    """The queues as the reference reads them."""
    names = ("key", "parent", "quota", "limit", "lending_limit", "weight", "bucket")
    return [{name: getattr(spec, name) for name in names} for spec in tree.specs.values()]


SCALE = 720_720  # divides evenly by all up to 16: most shares are whole
SMALL = st.integers(0, 12).map(lambda n: n * SCALE)
MAYBE = st.one_of(st.none(), st.none(), SMALL)
LIMITS = [(None,) * 4, (8, None, None, None), (0, None, 5, None), (20, 3, 9, 20)]
LENDING = [(None,) * 4, (None,) * 4, (0, None, None, None), (2, 1, 0, 3)]


def scaled(amounts: tuple[int | None, ...]) -> Any:
    """Amounts times SCALE."""
    return tuple(None if amount is None else amount * SCALE for amount in amounts)


@st.composite
def trees(draw: st.DrawFn, flat: bool = False) -> Tree:
    """Up to eight queues, up to four deep, with everything given or not."""
    specs: list[QueueSpec] = []
    for key in range(1, draw(st.integers(1, 8)) + 1):
        parent = draw(st.integers(0, key - 1)) if not flat and draw(st.booleans()) else 0
        depth, above = 1, parent
        while above:
            depth, above = depth + 1, specs[above - 1].parent
        specs.append(
            QueueSpec(
                key,
                parent if depth <= 3 else 0,
                quota=draw(st.tuples(MAYBE, MAYBE, MAYBE, MAYBE)),
                limit=scaled(draw(st.sampled_from(LIMITS))),
                lending_limit=scaled(draw(st.sampled_from(LENDING))),
                weight=draw(st.sampled_from([1000, 1000, 1, 2000, 3500, 0])),
                bucket=draw(st.sampled_from([0, 0, 0, 5])),
            )
        )
    return Tree(specs, scaled(draw(st.tuples(*[st.integers(0, 40)] * 4))))


@st.composite
def demands(draw: st.DrawFn, tree: Tree) -> dict[int, Amounts]:
    """What the leaves want, some of it nothing."""
    many = st.one_of(SMALL, st.integers(0, 60).map(lambda n: n * SCALE))
    return {key: draw(st.tuples(many, many, many, many)) for key in tree.leaves}
