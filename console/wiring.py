"""Plugs the answers of upper rooms into the questions that lower rooms ask. Called once the apps are ready."""

from collections.abc import Collection

from billing.catalog.backdating import BACKDATED_PRICE
from billing.catalog.quotes import quote
from console.approvals import actions
from console.tenants import ports as tenant_ports
from console.tenants.closing import CLOSE_TENANT
from pool.inventory.draining import DRAIN_SITE
from pool.inventory.ports import on_fleet_change
from pool.nodes import checkpoints
from pool.scheduling import ports, wake
from pool.scheduling.services.tenants import first_queue, look_again, stop_work_of, use_of


def plug() -> None:
    tenant_ports.plug(stop_work_of, look_again, use_of, first_queue)
    _plug_approvals()
    ports.set_price_quote(quote)
    ports.set_checkpoints(checkpoints.of_jobs)
    on_fleet_change(_wake_scheduler)


def _plug_approvals() -> None:
    """What needs a second person. A room that has something dangerous adds it here."""
    for action in (CLOSE_TENANT, BACKDATED_PRICE, DRAIN_SITE):
        actions.register(action)


def _wake_scheduler(node_ids: Collection[int]) -> None:
    wake.scheduler(node_ids=node_ids)
