"""Process groups: start one, find all that came from it, end them all. Linux; standard library only."""

import ctypes
import os
import signal
from collections.abc import Mapping, Sequence

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def adopt_orphans() -> None:
    """From now on a grandchild whose parent ends becomes our child: nothing leaves by forking twice."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def spawn(argv: Sequence[str], env: Mapping[str, str], cwd: str, stdout: int, stderr: int) -> tuple[int, str]:
    """(pid, "") of a process that leads its own session, or (0, why it did not start).

    It dies with us: a command must not outlive the shim that accounts for it.
    """
    told, tell = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become(argv, env, cwd, stdout, stderr, tell, parent)
    os.close(tell)
    with os.fdopen(told, "rb") as pipe:
        problem = pipe.read().decode(errors="replace")
    if problem:
        os.waitpid(pid, 0)
        return 0, problem
    return pid, ""


def _become(
    argv: Sequence[str], env: Mapping[str, str], cwd: str, stdout: int, stderr: int, tell: int, parent: int
) -> None:
    try:
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (stdout, 1), (stderr, 2)):
            os.dup2(source, target)
        os.chdir(cwd)
        os.execvpe(argv[0], list(argv), dict(env))  # noqa: S606
    except FileNotFoundError:
        os.write(tell, f"command not found: {argv[0]}".encode(errors="replace"))
    except (OSError, ValueError) as error:
        os.write(tell, f"cannot run {argv[0]}: {error}".encode(errors="replace"))
    os._exit(127)


def descendants(root: int) -> list[int]:
    """Every live process below `root`, from /proc; zombies are left out."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                after = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if after[0] not in (b"Z", b"X"):
            children.setdefault(int(after[1]), []).append(int(name))
    found: list[int] = []
    todo = [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def signal_all(pids: Sequence[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def reap() -> tuple[dict[int, int], bool]:
    """Collects every child that has ended (pid -> exit code, negative for a signal), and whether any is left."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended, False
        if pid == 0:
            return ended, True
        ended[pid] = os.waitstatus_to_exitcode(status)


def carrying(variable: str, value: str) -> list[int]:
    """Live processes whose environment has this variable: what is left of a replica when its shim was killed."""
    wanted = f"{variable}={value}".encode()
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            continue
    return found
