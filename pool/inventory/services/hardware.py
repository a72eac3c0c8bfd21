"""Tells submissions that the hardware is not what it was."""

from console.common import sql


def hardware_changed() -> None:
    """In the transaction of the change, after everything that locks nodes: one row, which others then wait for."""
    sql.execute(
        "INSERT INTO inventory_hardware (id, version) VALUES (1, 1)"
        " ON CONFLICT (id) DO UPDATE SET version = inventory_hardware.version + 1"
    )
