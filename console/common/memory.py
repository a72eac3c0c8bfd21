"""The garbage collector in processes that answer within milliseconds."""

import gc


def settle() -> None:
    """Call once a long-lived process has loaded what it keeps.

    What lives now is never looked at again, and the rest less often: a full collection walks every object of a fleet of
    10,240 devices, which takes some 60 ms, and nearly all garbage here goes by reference counts anyway. The young are
    looked at often: 50,000 of them at once took 25 to 90 ms, in which nobody was answered.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 50, 100)
