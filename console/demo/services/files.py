"""The files that let the simulated fleet find its nodes and its way in."""

import json
import os
from datetime import timedelta
from pathlib import Path

from console.demo.fleet import DemoSite, nodes_of
from console.demo.services.seed import SEED
from pool.inventory.models import Site
from pool.nodes.models import Agent
from pool.nodes.services import create_join_token

_TOKEN_LIFE = timedelta(days=1)


def write_site_files(home: Path, site: DemoSite, devices: int) -> int:
    """Writes `<site>.json` and `<site>.token`; returns for how many nodes the token is good.

    The token is empty when every node has joined and the fleet process still has their credentials.
    """
    nodes = nodes_of(site, devices)
    (home / "demo").mkdir(parents=True, exist_ok=True)
    _private(site.file(home, "json"), json.dumps(nodes, indent=1))
    names = [node["name"] for node in nodes]
    joined = Agent.objects.filter(node__site__name=site.name, node__name__in=names).count()
    wanted = len(nodes) if not site.file(home, "state.json").exists() else len(nodes) - joined
    token = ""
    if wanted > 0:
        row = Site.objects.get(name=site.name)
        token = create_join_token(SEED, row, uses=wanted, valid=_TOKEN_LIFE, name_prefix=f"{site.prefix}-")[1]
    _private(site.file(home, "token"), token)
    return wanted


def _private(path: Path, text: str) -> None:
    """Whole or not at all, and never readable by others."""
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    part.replace(path)
