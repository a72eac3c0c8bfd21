"""What part of a card is charged.

A MIG slice has two shares: 1g.10gb of an A100 80GB is 1/7 of the compute (NVIDIA MIG User Guide) and has 9.5 GiB
of the 80 GiB of memory, not the 10 of its name. A vgpu slice has the compute and the memory asked for. The basis
says which counts.
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
    """`compute`: exact share of the card. `memory_mib`: what is really held, never what a profile's name says."""

    compute: Fraction
    memory_mib: int
    device_memory_mib: int

    @property
    def memory(self) -> Fraction:
        return Fraction(min(self.memory_mib, self.device_memory_mib), self.device_memory_mib)


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
