"""Children that die with their parent, so that `kill -9` of a supervisor leaves no orphan of the control plane."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable

PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def die_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """Asks the kernel for signal `number` when the parent ends; ends at once when `parent` has ended already.

    Linux only (prctl(2)); elsewhere an orderly stop still takes all children along. The setting outlives exec.
    """
    if _libc is None:
        return
    if _libc.prctl(PR_SET_PDEATHSIG, number, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    # the parent may have died between fork and prctl: then no signal will ever come
    if os.getppid() != parent:
        os._exit(1)


def hook(nice: int = 0) -> Callable[[], None]:
    """A `preexec_fn`, which also steps back by `nice`. Call it in the thread that starts the child: the kernel watches
    that thread, not the process."""
    parent = os.getpid()

    def before_exec() -> None:
        die_with_parent(parent)
        os.nice(nice)

    return before_exec
