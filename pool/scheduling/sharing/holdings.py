"""What queues hold now, kept with the fleet in memory: a few additions an allocation."""

from collections.abc import Iterable, Mapping

from pool.engine.sharing import Amounts, Weights
from pool.engine.sharing.amounts import PLAIN
from pool.engine.types import WHOLE, Hold, NodeSpec


class Holdings:
    """`touched`: jobs whose allocations came or went since somebody last took note (sharing/running.py)."""

    def __init__(self, weights: Weights | None = None) -> None:
        self.weights = weights or Weights()
        self.queues: dict[int, list[int]] = {}
        self.touched: set[int] = set()
        self._weight_of: dict[int, int] = {}  # device; only where models differ

    def learn(self, specs: Iterable[NodeSpec]) -> None:
        """Of which models the devices of these nodes are."""
        if self.weights.by_model:
            self._weight_of |= {card.key: self.weights.of(card.model) for node in specs for card in node.devices}

    def count(self, queue: int, job: int, hold: Hold, sign: int) -> None:
        totals = self.queues.get(queue)
        if totals is None:
            totals = self.queues[queue] = [0, 0, 0, 0]
        totals[0] += sign * self.units(hold)
        totals[1] += sign * hold.memory_mib
        totals[2] += sign * hold.cpu_milli
        totals[3] += sign * hold.host_memory_mib
        self.touched.add(job)

    def units(self, hold: Hold) -> int:
        """GPU units: the share of a card times the weight of its model."""
        weight = self._weight_of.get(hold.device_key, PLAIN) if hold.device_key and self._weight_of else PLAIN
        return hold.share_bp * weight

    def amounts(self, hold: Hold) -> Amounts:
        return (self.units(hold), hold.memory_mib, hold.cpu_milli, hold.host_memory_mib)

    def of(self, queue: int) -> Amounts:
        gpu, memory, cpu, host = self.queues.get(queue, (0, 0, 0, 0))
        return (gpu, memory, cpu, host)


def capacity(specs: Mapping[int, NodeSpec], held: Iterable[Hold], weights: Weights) -> tuple[Amounts, bool]:
    """All that open nodes and cards have, and of closed ones what is held there still: it is in use all the same.

    Whether all of it is open comes with it.
    """
    gpu = memory = cpu = host = 0
    closed_nodes, closed_cards = set(), set()
    for node in specs.values():
        if node.schedulable:
            cpu, host = cpu + node.cpu_milli, host + node.memory_mib
        else:
            closed_nodes.add(node.key)
        for card in node.devices:
            if node.schedulable and card.schedulable:
                gpu, memory = gpu + WHOLE * weights.of(card.model), memory + card.memory_mib
            else:
                closed_cards.add(card.key)
    if not closed_nodes and not closed_cards:
        return (gpu, memory, cpu, host), True
    models = {card.key: card.model for node in specs.values() for card in node.devices if card.key in closed_cards}
    for hold in held:
        if hold.device_key in closed_cards:
            gpu, memory = gpu + hold.share_bp * weights.of(models[hold.device_key]), memory + hold.memory_mib
        if hold.node_key in closed_nodes:
            cpu, host = cpu + hold.cpu_milli, host + hold.host_memory_mib
    return (gpu, memory, cpu, host), False
