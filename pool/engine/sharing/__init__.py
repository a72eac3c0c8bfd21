"""Who gets what: fair shares of a tree of queues. Pure.

Describe the queues (:class:`Tree`), tell what they hold and want, ask :func:`entitlements`; keep
:class:`Books` of what is held, and let :class:`Order` say whose turn it is.
"""

from pool.engine.sharing.amounts import CARD, NOTHING, RESOURCES, Amounts, Weights, asked, held
from pool.engine.sharing.books import Barred, Books
from pool.engine.sharing.budget import Budget, Purse, Spent
from pool.engine.sharing.entitle import Entitlements, Share, entitlements
from pool.engine.sharing.explain import Bound, Standing, bound, standings
from pool.engine.sharing.history import Memory, Use, past_use, weights_by_use
from pool.engine.sharing.order import Order
from pool.engine.sharing.tree import ROOT, UNSET, QueueSpec, Tree

__all__ = [
    "CARD",
    "NOTHING",
    "RESOURCES",
    "ROOT",
    "UNSET",
    "Amounts",
    "Barred",
    "Books",
    "Bound",
    "Budget",
    "Entitlements",
    "Memory",
    "Order",
    "Purse",
    "QueueSpec",
    "Share",
    "Spent",
    "Standing",
    "Tree",
    "Use",
    "Weights",
    "asked",
    "bound",
    "entitlements",
    "held",
    "past_use",
    "standings",
    "weights_by_use",
]
