"""Time since this boot in microseconds: no clock setting moves it, and it counts through a suspend."""

import time

_BOOT_ID = "/proc/sys/kernel/random/boot_id"


def now_us() -> int:
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)) // 1000


def boot_id() -> str:
    """Changes with each boot, so that a time of an earlier one is never compared with ours."""
    try:
        with open(_BOOT_ID) as file:
            return file.read().strip()
    except OSError:
        return "unknown"
