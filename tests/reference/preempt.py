"""Which running pieces may go for a waiting job, by trying every set of them. Imports nothing of ours.

Small pools of whole cards: ``nodes`` {node: cards}. A piece: {"job", "queue", "priority", "started",
"surplus", "on": {node: cards}, "may_go"}. Queues as in sharing.py of this folder, amounts in cards
(one resource). Asking: {"queue", "priority", "replicas", "cards"} (cards a replica, each replica on one node).
"""

from __future__ import annotations

from itertools import chain, combinations
from typing import Any

Piece = dict[str, Any]


class Pool:
    """What there is, runs and is asked."""

    def __init__(
        self,
        nodes: dict[int, int],
        queues: list[dict[str, Any]],
        entitled: dict[int, int],
        bounds: dict[int, int],
        pieces: list[Piece],
        asking: dict[str, Any],
    ) -> None:
        self.nodes, self.queues, self.pieces, self.asking = nodes, {q["key"]: q for q in queues}, pieces, asking
        self.leaf_entitled, self.bounds = entitled, bounds  # bounds: what each queue may reclaim up to
        self.size = asking["replicas"] * asking["cards"]

    # --- the tree

    def path(self, key: int) -> list[int]:
        found = []
        while key:
            found.append(key)
            key = self.queues[key]["parent"]
        return found

    def children(self, key: int) -> list[int]:
        return [k for k, q in self.queues.items() if q["parent"] == key]

    def entitled(self, key: int) -> int:
        below = self.children(key)
        return sum(self.entitled(k) for k in below) if below else self.leaf_entitled[key]

    def used(self, key: int, pieces: list[Piece]) -> int:
        return sum(size(p) for p in pieces if key in self.path(p["queue"]))

    # --- who is protected

    def rank(self, piece: Piece) -> tuple[Any, ...]:
        return piece["surplus"], -piece["priority"], piece["started"], piece["job"], piece.get("rank", 0)

    def unprotected(self, queue: int) -> list[Piece]:
        covered, over = 0, []
        for piece in sorted((p for p in self.pieces if p["queue"] == queue), key=self.rank):
            lost = any(o["job"] == piece["job"] and not o["surplus"] for o in over)
            if lost or covered + size(piece) > self.leaf_entitled[queue]:
                over.append(piece)
            else:
                covered += size(piece)
        return over

    def may_be_taken(self, piece: Piece) -> bool:
        """In turn, or out of turn for the first time."""
        return not piece["paid"] or piece in self.unprotected(piece["queue"])

    def newcomer_protected(self) -> bool:
        queue, covered = self.asking["queue"], 0
        for piece in sorted((p for p in self.pieces if p["queue"] == queue), key=self.rank):
            before = not piece["surplus"] and piece["priority"] >= self.asking["priority"]
            if before and covered + size(piece) <= self.leaf_entitled[queue]:
                covered += size(piece)
        return covered + self.size <= self.leaf_entitled[queue]

    # --- what makes a set of pieces right

    def fits(self, going: list[Piece]) -> bool:
        free = dict(self.nodes)
        for piece in self.pieces:
            if piece not in going:
                for node, cards in piece["on"].items():
                    free[node] -= cards
        return sum(cards // self.asking["cards"] for cards in free.values()) >= self.asking["replicas"]

    def within_limits(self, going: list[Piece]) -> bool:
        stay = [p for p in self.pieces if p not in going]
        return all(
            self.below(key, stay) <= self.queues[key]["limit"][0]
            for key in self.path(self.asking["queue"])
            if self.queues[key]["limit"][0] is not None
        )

    def below(self, key: int, stay: list[Piece]) -> int:
        """What a queue closes, with the newcomer."""
        children = self.children(key)
        if not children:
            return self.used(key, stay) + (self.size if key == self.asking["queue"] else 0)
        return sum(self.below(child, stay) for child in children)

    def lawful(self, going: list[Piece]) -> bool:
        mine, asker = self.path(self.asking["queue"]), self.asking
        for piece in going:
            if not piece["may_go"]:
                return False
            if not piece["surplus"]:
                rest = [p for p in self.pieces if p["job"] == piece["job"]]
                if any(p not in going for p in rest):
                    return False
            if piece["queue"] == asker["queue"]:
                free = self.newcomer_protected() or self.may_be_taken(piece)
                if piece["priority"] >= asker["priority"] or not free:
                    return False
                continue
            if not self.may_be_taken(piece):
                return False
            theirs = self.path(piece["queue"])
            shared = next((key for key in mine if key in theirs), 0)
            for key in theirs[: theirs.index(shared)] if shared else theirs:
                others = [p for p in going if p is not piece]
                if self.used(key, [p for p in self.pieces if p not in others]) <= self.entitled(key):
                    return False
            for key in mine[: mine.index(shared)] if shared else mine:
                stay = [p for p in self.pieces if p not in going]
                if self.used(key, stay) + self.size > self.bounds[key]:
                    return False
        return True

    def right(self, going: list[Piece]) -> bool:
        return self.fits(going) and self.within_limits(going) and self.lawful(going)

    def all_right(self) -> list[list[Piece]]:
        """Every set that may go and lets the job in."""
        sets = chain.from_iterable(combinations(self.pieces, n) for n in range(len(self.pieces) + 1))
        return [list(going) for going in sets if self.right(list(going))]

    def minimal(self, going: list[Piece]) -> bool:
        """Whether none of these could stay."""
        return not any(self.right([p for p in going if p is not piece]) for piece in going)


def size(piece: Piece) -> int:
    return int(sum(piece["on"].values()))
