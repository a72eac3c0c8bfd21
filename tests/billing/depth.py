"""How many random histories: few in each run of the suite, many where WEIR_BILLING_LONG is set."""

import os


def examples(usual: int, long: int) -> int:
    return long if os.environ.get("WEIR_BILLING_LONG") else usual
