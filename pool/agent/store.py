"""What an agent keeps on disk: its credential, the node's lease, a folder a replica, and names that ended.

agent.json             credential and server's id of the node
lease.json             until when this node may run anything (microseconds since boot)
replicas/<id>/         see shim.py; plus work.json (the start command) and sent.json (output stored so far)
ended/<id>             this replica must never start (again) here
"""

import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

from pool.agent import boottime, records

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
KEEP_ENDED_S = 7 * 86_400


class Store:
    """Raises OSError where the folder cannot be written."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        for folder in (self.root, self.root / "replicas", self.root / "ended"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.lease_path = self.root / "lease.json"
        self._boot = boottime.boot_id()

    def credential(self) -> str | None:
        value = (records.read(self.root / "agent.json") or {}).get("credential")
        return value if isinstance(value, str) else None

    def save_credential(self, credential: str) -> None:
        path = self.root / "agent.json"
        path.touch(mode=0o600, exist_ok=True)
        records.write(path, {"credential": credential})
        os.chmod(path, 0o600)

    def renew_lease(self, until_us: int) -> None:
        records.write(self.lease_path, {"boot_id": self._boot, "until_us": until_us})

    def folder(self, replica: str) -> Path:
        """Raises ValueError for an id that is no plain name."""
        if not _ID.fullmatch(replica):
            raise ValueError(f"replica id {replica[:80]!r} is no plain name")
        return self.root / "replicas" / replica

    def replicas(self) -> list[str]:
        return sorted(path.name for path in (self.root / "replicas").iterdir() if _ID.fullmatch(path.name))

    def create(self, replica: str, work: dict[str, Any], spec: dict[str, Any]) -> Path:
        """The folder of a replica, there as a whole or not at all."""
        folder = self.folder(replica)
        fresh = folder.with_name(f".{replica}")
        shutil.rmtree(fresh, ignore_errors=True)
        (fresh / "home").mkdir(mode=0o700, parents=True)
        records.write(fresh / "work.json", work)
        records.write(fresh / "spec.json", spec)
        fresh.rename(folder)
        return folder

    def end(self, replica: str) -> None:
        """From now on a start of this replica is refused."""
        (self.root / "ended" / replica).touch()

    def has_ended(self, replica: str) -> bool:
        self.folder(replica)
        return (self.root / "ended" / replica).exists()

    def forget(self, replica: str) -> None:
        """Takes the folder away; its name stays among the ended."""
        self.end(replica)
        shutil.rmtree(self.folder(replica), ignore_errors=True)

    def prune(self) -> None:
        """Names that ended long ago: no command for them can still be on its way."""
        oldest = time.time() - KEEP_ENDED_S
        for path in (self.root / "ended").iterdir():
            if path.stat().st_mtime < oldest:
                path.unlink(missing_ok=True)
