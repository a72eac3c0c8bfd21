"""A simulated fleet as a process, with its control socket."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.nodes.running import PATIENCE_S, ROOT, new_token, wait_for


class FleetProcess:
    def __init__(self, server: str, folder: Path, spec: str = "nodes=2,devices=8,prefix=sim") -> None:
        self.control = folder / "control"
        words = [sys.executable, "-m", "pool.agent.fleet", "--server", server, "--generate", spec]
        words += ["--control", str(self.control), "--state", str(folder / "credentials.json")]
        self.log = folder / "fleet.log"
        with open(self.log, "ab") as log:
            env = {**os.environ, "WEIR_JOIN_TOKEN": new_token()}
            self.process = subprocess.Popen(words, cwd=ROOT, env=env, stdout=log, stderr=log)
        wait_for(self.control.exists, "the control socket")

    def order(self, do: str, node: str, **more: Any) -> None:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE_S)
            client.connect(str(self.control))
            client.sendall(json.dumps({"do": do, "node": node, **more}).encode() + b"\n")
            answer = client.recv(1000)
        assert answer == b"ok\n", answer

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE_S)
