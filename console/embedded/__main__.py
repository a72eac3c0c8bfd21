"""`python -m console.embedded`, the supervisor. No Django: it stays small and survives what its children do."""

import asyncio
import os
import sys

from console.embedded import lock, preflight
from console.embedded.options import BASE_DIR, parse
from console.embedded.plan import build
from console.embedded.refusal import Refusal
from console.embedded.supervisor import Supervisor


def main(argv: list[str]) -> int:
    options = parse(argv)
    os.chdir(BASE_DIR)  # `python -m` finds our packages from here, whatever folder the person stands in
    try:
        preflight.servers(options.home)
        preflight.data_folder(options.home)
        preflight.disk_space(options.home, options.min_free_mib)
        held = lock.take(options.home)
        preflight.port_free(options.host, options.port, "--port")
        preflight.port_free(options.gateway_host, options.gateway_port, "WEIR_GATEWAY_PORT")
        preflight.secret_key(options.home)
        asyncio.run(Supervisor(options, build(options)).run())
    except Refusal as refusal:
        print(f"weir: {refusal}", file=sys.stderr)
        return refusal.code
    os.close(held)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
