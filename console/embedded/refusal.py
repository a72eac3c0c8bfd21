"""Why `manage.py up` will not start: one clear line and an exit code, never a traceback."""

UNWRITABLE = 3
DISK_FULL = 4
PORT_BUSY = 5
ALREADY_RUNNING = 6
NO_VALKEY = 7
PREPARE_FAILED = 8
BAD_SETTING = 9


class Refusal(Exception):
    """Carries the line for the person and the exit code of the process."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code
