"""What part of a card is charged.

A MIG slice has two shares: 1g of an H100 is 1/7 of the compute and 1/8 of the memory (NVIDIA MIG User Guide).
A vgpu slice has the share asked for and the memory asked for. The basis says which counts.
"""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction


class Basis(StrEnum):
    COMPUTE = "compute"
    MEMORY = "memory"
    LARGER = "larger"  # what is held of the scarcer resource; the default


@dataclass(frozen=True, slots=True)
class Held:
    """Exact shares of one card. `memory_mib` is what is really held, never what a profile's name says."""

    compute: Fraction
    memory: Fraction
    memory_mib: int
    device_memory_mib: int


def charged(held: Held, basis: Basis) -> Fraction:
    """The share, 0 to 1, that the price of a whole card is multiplied by.

    By `larger`, memory counts only where it exceeds what the compute share brings with it, rounded up to whole
    MiB: a quarter of 81,559 MiB is held as 20,390 and is still a quarter of a card.
    """
    if basis is Basis.COMPUTE:
        return held.compute
    if basis is Basis.MEMORY:
        return held.memory
    brought = -(-held.compute * held.device_memory_mib // 1)
    if held.memory_mib <= brought:
        return held.compute
    return max(held.compute, held.memory)
