"""Files that describe a fleet, read into plain drafts. Nothing here knows the database."""

from pool.inventory.importing.drafts import (
    DeviceDraft,
    DomainDraft,
    FleetDraft,
    LinkDraft,
    ModelDraft,
    NodeDraft,
    SiteDraft,
)
from pool.inventory.importing.files import read_fleet

__all__ = [
    "DeviceDraft",
    "DomainDraft",
    "FleetDraft",
    "LinkDraft",
    "ModelDraft",
    "NodeDraft",
    "SiteDraft",
    "read_fleet",
]
