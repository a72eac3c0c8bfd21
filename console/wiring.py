"""Plugs the answers of upper rooms into the questions that lower rooms ask. Called once the apps are ready."""

from collections.abc import Collection

from billing.catalog.quotes import quote
from pool.inventory.ports import on_fleet_change
from pool.nodes import checkpoints
from pool.scheduling import ports, wake


def plug() -> None:
    ports.set_price_quote(quote)
    ports.set_checkpoints(checkpoints.of_jobs)
    on_fleet_change(_wake_scheduler)


def _wake_scheduler(node_ids: Collection[int]) -> None:
    wake.scheduler(node_ids=node_ids)
