"""What a decision was made on besides the state of the pool, as `Decision.inputs` keeps it.

Of the engine: {"request": number in the chain, "explain": whether changes were looked for}; of those that were placed
also {"order": rule, "before", "after": basis points of a card that the queue held, "entitled": where shares decided,
"within": cards that are reserved for it, where only those were looked at}.
Of a limit: {"limits": all that were looked at, "asked": basis points}. Of the tree of queues: {"tree": number,
"leaf", "held": [[leaf, four amounts]], "asks": four amounts}. Of a place that was kept: {"preemption": public id}, or
{"move": public id of the plan against fragmentation}.
"""

from dataclasses import astuple
from typing import Any

from pool.engine.sharing import Amounts, Books
from pool.scheduling.ledger.journal import Journal
from pool.scheduling.limits import Limit
from pool.scheduling.sharing.state import Sharing
from pool.scheduling.waiting import Waiting

ROOM, MOVE, SWEEP = "room", "move", "sweep"  # a place that was kept for it; the same, since it moves; while it waits


def of_limits(limits: list[Limit], share_bp: int) -> dict[str, Any]:
    return {"limits": [astuple(limit) for limit in limits], "asked": share_bp, "order": SWEEP}


def of_tree(journal: Journal, sharing: Sharing, books: Books, item: Waiting) -> dict[str, Any]:
    tree = books.tree
    held = [[leaf, *books.used[leaf]] for leaf in tree.leaves if any(books.used[leaf])]
    number = journal.tree(sharing.layout.specs, tree.capacity)
    return {
        "tree": number,
        "leaf": sharing.leaf(item),
        "held": held,
        "asks": list(sharing.asks(item)),
        "order": SWEEP,
    }


def amounts_of(values: list[int]) -> Amounts:
    gpu, memory, cpu, host = values
    return (gpu, memory, cpu, host)
