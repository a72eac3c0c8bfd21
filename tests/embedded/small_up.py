"""The real supervisor over a plan of small real processes: `python -m tests.embedded.small_up HOME PORT`."""

import asyncio
import sys
from pathlib import Path

from console.embedded import lock, plan, preflight, probes
from console.embedded.options import parse
from console.embedded.spec import Spec
from console.embedded.supervisor import Supervisor

PREPARE = """
import json
print(json.dumps({"weir": {"migrated": "yes"}}), flush=True)
print("an ordinary line", flush=True)
print(json.dumps({"weir": {"sign_in": "/signin/once/"}}), flush=True)
"""
SLEEP = "import time; time.sleep(3600)"
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "print('WARNING deaf', flush=True); time.sleep(3600)"
)
# a node agent in small: its work runs in a session of its own and keeps our end of the output pipe
GUEST = (
    "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', "
    "'import time; time.sleep(3600)', 'the-work', sys.argv[2]], start_new_session=True); time.sleep(3600)"
)


def python(code: str, *words: str) -> list[str]:
    return [sys.executable, "-c", code, *words]


def main(home: Path, port: int) -> None:
    options = parse(["--port", str(port)])
    server = plan._valkey(options)
    web = Spec(
        "web",
        [
            sys.executable,
            "-m",
            "http.server",
            str(port),
            "--bind",
            "127.0.0.1",
            "--directory",
            str(home / "log"),
        ],
        plan.SERVERS,
        probe=probes.http("127.0.0.1", port, "/"),
        watched=True,
    )
    others = [
        Spec("sleeper", python(SLEEP, "sleeper"), plan.WORKERS),
        Spec("stubborn", python(STUBBORN, "stubborn"), plan.WORKERS, grace=0.3),
    ]
    guest = Spec("guest", python(GUEST, "guest", str(home)), plan.GUESTS)
    small = plan.Plan(
        server, Spec("prepare", python(PREPARE), plan.GROUND), [web], home / "gate", others, lambda facts: [guest]
    )
    asyncio.run(Supervisor(options, small).run())


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    preflight.data_folder(folder)
    held = lock.take(folder)
    main(folder, int(sys.argv[2]))
