"""What is known of device models before the first card of one reports.

`memory_mib` is what the vendor's tool prints as the total of one card (nvidia-smi, npu-smi info, amd-smi,
cnmon), read from published captures; a card that reports its own figure overrides it. The six openb models
have the figures of the table in the simulator of the FGD paper (Weng et al., USENIX ATC 2023), where G2 and
G3 are anonymised cards with round placeholders. `power_limit_w`: the vendor's data sheet, default board power.
`weight`: what a card is worth against an A100 40GB when fair shares of a mixed fleet are compared. It is our
own judgement from dense FP16 throughput, an operator may change it, and it is never a price.
`mig_family` is a key of `pool.engine.mig_tables.FAMILIES`; empty: the card has no MIG.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final


@dataclass(frozen=True, slots=True)
class KnownModel:
    """`words`: a pattern of words that a vendor's product name contains, upper case."""

    name: str
    vendor: str
    memory_mib: int
    mig_family: str
    power_limit_w: int
    weight: Decimal
    words: str


_ROWS: Final = (
    # name, vendor, memory MiB, MIG family, W, weight, words of the product name
    ("B300-269GB", "nvidia", 275040, "B300-269GB", 1100, "7.2", "B300"),
    ("GB200-186GB", "nvidia", 189471, "GB200-186GB", 1200, "8", "GB200"),
    ("B200-180GB", "nvidia", 183359, "B200-180GB", 1000, "7.2", "B200"),
    ("GH200-144GB", "nvidia", 147456, "H200-141GB", 900, "3.2", "GH200"),
    ("GH200-96GB", "nvidia", 97871, "H100-96GB", 900, "3.2", "GH200"),
    ("H200-141GB", "nvidia", 143771, "H200-141GB", 700, "3.2", "H200"),
    ("H100-94GB", "nvidia", 95830, "H100-94GB", 400, "2.7", "H100"),
    ("H100-80GB", "nvidia", 81559, "H100-80GB", 700, "3.2", "H100"),
    ("H800-80GB", "nvidia", 81559, "H100-80GB", 700, "3.2", "H800"),
    ("H20-96GB", "nvidia", 97871, "H100-96GB", 500, "0.5", "H20"),
    ("A100-80GB", "nvidia", 81920, "A100-80GB", 400, "1", "A100"),
    ("A100-40GB", "nvidia", 40960, "A100-40GB", 400, "1", "A100"),
    ("A800-80GB", "nvidia", 81920, "A100-80GB", 400, "1", "A800"),
    ("A800-40GB", "nvidia", 40960, "", 250, "1", "A800"),
    ("A30", "nvidia", 24576, "A30-24GB", 165, "0.53", "A30"),
    ("RTX-PRO-6000-96GB", "nvidia", 97887, "RTX-PRO-6000-96GB", 600, "1.6", "RTX PRO 6000"),
    ("L40S", "nvidia", 46068, "", 350, "1.15", "L40S"),
    ("L40", "nvidia", 46068, "", 300, "0.58", "L40"),
    ("L20", "nvidia", 46068, "", 275, "0.38", "L20"),
    ("L4", "nvidia", 23034, "", 72, "0.39", "L4"),
    ("A40", "nvidia", 46068, "", 300, "0.48", "A40"),
    ("A10", "nvidia", 22731, "", 150, "0.4", "A10"),
    ("A10G", "nvidia", 23028, "", 300, "0.22", "A10G"),
    ("RTX-4090", "nvidia", 24564, "", 450, "0.53", "RTX 4090"),
    ("RTX-3090", "nvidia", 24576, "", 350, "0.23", "RTX 3090"),
    ("T4", "nvidia", 15109, "", 70, "0.21", "T4"),
    ("V100M32", "nvidia", 32510, "", 300, "0.4", "V100"),
    ("V100M16", "nvidia", 16160, "", 300, "0.4", "V100"),
    ("P100", "nvidia", 16280, "", 250, "0.06", "P100"),
    ("G2", "unknown", 20000, "", 250, "0.4", "G2"),
    ("G3", "unknown", 30000, "", 250, "0.4", "G3"),
    ("MI300X", "amd", 196592, "", 750, "4.2", "MI300X"),
    ("MI325X", "amd", 262128, "", 1000, "4.2", "MI325X"),
    ("MI250X", "amd", 65520, "", 280, "0.6", "MI250X"),  # one of the two dies of a card
    ("Ascend-910B", "huawei", 65536, "", 400, "1", r"(ASCEND ?)?910B\d?"),
    ("Ascend-910C", "huawei", 65536, "", 400, "1.2", r"(ASCEND ?)?910C\d?"),  # one of the two dies of a card
    ("Ascend-310P", "huawei", 22552, "", 72, "0.22", r"(ASCEND ?)?310P\d?"),
    ("MLU370-X8", "cambricon", 24576, "", 250, "0.31", "MLU370 X8"),  # one of the two dies of a card
    ("K100-AI", "hygon", 65520, "", 350, "0.62", "K100 AI"),
    ("Gaudi2", "intel", 98304, "", 600, "1.4", "GAUDI2"),
    ("Gaudi3", "intel", 131072, "", 900, "5.9", "GAUDI3"),
)

KNOWN: Final[dict[str, KnownModel]] = {
    row[0]: KnownModel(row[0], row[1], row[2], row[3], row[4], Decimal(row[5]), row[6]) for row in _ROWS
}
_NEAR: Final = 0.08  # two drivers disagree by less about one card


@lru_cache(maxsize=256)  # agents ask for each of thousands of equal cards
def recognise(product: str, memory_mib: int = 0) -> KnownModel | None:
    """The model that a name means: ours (`H100-80GB`) or a product's (`NVIDIA H100 80GB HBM3`, 81559 MiB).

    Products of one name differ by memory: the nearest one within 8 % is meant. Without a memory, the memory in
    the name decides, or there must be one candidate only.
    """
    if product in KNOWN:
        return KNOWN[product]
    text = " " + re.sub(r"[^A-Z0-9]+", " ", product.upper()).strip() + " "
    named = [model for model in KNOWN.values() if re.search(f" {model.words} ", text)]
    memory = memory_mib or _memory_in(text)
    if not memory:
        return named[0] if len(named) == 1 else None
    near = [model for model in named if abs(model.memory_mib - memory) <= _NEAR * model.memory_mib]
    return min(near, key=lambda model: abs(model.memory_mib - memory), default=None)


def _memory_in(text: str) -> int:
    found = re.search(r" (\d+) ?G[B ]", text)
    return int(found[1]) * 1024 if found else 0
