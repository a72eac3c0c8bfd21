"""What connects cards: bandwidth and latency by level, as data.

Bandwidths are GB/s per card, one way, as a collective sees them. Sources: vendors' data sheets
(NVLink of a card is half of the "both ways" figure; 8 x H100 measured at a bus bandwidth of
480 GB/s; NDR400 50 and NDR200 25 GB/s a port; PCIe 5 x16 about 55 measured, 4 x16 about half) and
the tuning model of NCCL for latencies (base 8.4 us; per hop NVLink 3.4, PCIe 5.7, network 9.6 us
in the Simple protocol; 2 to 5 us for each further switch of a fabric: 4 here). Between pods half of a port
is assumed (2:1 oversubscription), between sites 10 Gb/s and 5 ms: our own judgement.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pool.engine.levels import FLEET, ISLAND, LEVELS, NODE

CARD: Final = ISLAND + 1  # two parts of one card
BASE_US: Final = 8.4

HOP_US: Final = {
    CARD: 1.0,
    ISLAND: 3.4,
    NODE: 5.7,
    LEVELS.index("rack"): 9.6,
    LEVELS.index("switch"): 13.6,
    LEVELS.index("pod"): 17.6,
    LEVELS.index("site"): 21.6,
    FLEET: 5_000.0,
}
CARD_GBS: Final = 1_000.0
BETWEEN_PODS: Final = 0.5
BETWEEN_SITES_GBS: Final = 1.25

_CARDS: Final = (  # words of a model's name, NVLink GB/s, PCIe GB/s
    (r"[GB]?B[23]00", 900.0, 55.0),
    (r"GH200|H200|H100", 480.0, 55.0),
    (r"H20", 450.0, 55.0),
    (r"H800", 200.0, 55.0),
    (r"A100", 300.0, 25.0),
    (r"A800", 200.0, 25.0),
    (r"V100\w*", 150.0, 12.0),
    (r"P100", 80.0, 12.0),
    (r"T4|P4|P40", 12.0, 12.0),
    (r"MI3\d\dX", 448.0, 55.0),
    (r"910[BC]\d?", 196.0, 55.0),
    (r"GAUDI3", 525.0, 55.0),
    (r"GAUDI2", 262.0, 25.0),
)
_OTHER_CARD: Final = (50.0, 25.0)

_FABRICS: Final = (  # words of a fabric's name, GB/s a card
    (r"NDR400|NDR|XDR200|400G\w*", 50.0),
    (r"XDR|800G\w*", 100.0),
    (r"NDR200|HDR|200G\w*", 25.0),
    (r"HDR100|EDR|100G\w*|ROCE", 12.5),
    (r"FDR|50G\w*", 6.25),
    (r"25G\w*", 3.1),
    (r"10G\w*", 1.25),
)
_OTHER_FABRIC: Final = 12.5


@dataclass(frozen=True, slots=True)
class CardLinks:
    """GB/s of a card inside its NVLink (or like) island, and over PCIe."""

    island: float
    pcie: float


@lru_cache(maxsize=512)
def links_of(model: str) -> CardLinks:
    """The links of a card by its model's name; a modest guess for a model not in the table."""
    words = re.split(r"[^A-Z0-9]+", model.upper())
    for pattern, island, pcie in _CARDS:
        if any(re.fullmatch(pattern, word) for word in words):
            return CardLinks(island, pcie)
    return CardLinks(*_OTHER_CARD)


@lru_cache(maxsize=512)
def fabric_gbs(fabric: str) -> float:
    """GB/s a card of a site's fabric by its name (``NDR200``, ``RoCE v2``); 100 Gb/s if unknown."""
    words = re.split(r"[^A-Z0-9]+", fabric.upper())
    for pattern, speed in _FABRICS:
        if any(re.fullmatch(pattern, word) for word in words):
            return speed
    return _OTHER_FABRIC
