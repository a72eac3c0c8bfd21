"""MIG profiles and legal placements of 11 GPU families, as plain rows.

Sources: NVIDIA MIG User Guide (driver R580 edition); published captures of ``nvidia-smi mig
-lgip`` and ``-lgipp`` (A100, A30, H100 80 GB and NVL 94 GB, RTX PRO 6000; H200 counts only);
memory sizes by profile id as the driver reports them; B300 names from a cloud provider's page.
``assumed`` marks families whose start positions nobody has published: they take the grid that
every other 7-slice GPU has. Memory 0: not published; the engine then takes the profile's part
of the card's memory. The name's memory is nominal and is never compared with a card (T12).
RTX PRO 5000 is left out: its placements are not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

Row = tuple[str, int, int, int, tuple[int, ...], int, int]


@dataclass(frozen=True, slots=True)
class Profile:
    """``units``: memory slices it covers from its start; ``memory_mib`` 0: not published."""

    name: str
    gi_profile_id: int
    compute_slices: int
    units: int
    starts: tuple[int, ...]
    max_instances: int
    memory_mib: int
    assumed: bool

    @property
    def media(self) -> bool:
        """Takes media engines of which a card has one set for such instances."""
        return "+me" in self.name

    @property
    def plain(self) -> bool:
        """Neither a media nor a graphics variant of another profile."""
        return not self.name.endswith(("+me", "+me.all", "-me", "+gfx"))

    @property
    def nominal_mib(self) -> int:
        """The memory that the name promises: 5 120 for ``1g.5gb``."""
        return int(self.name.split(".")[1].split("gb")[0]) * 1024


@dataclass(frozen=True, slots=True)
class Family:
    """One GPU family: ``units`` memory slices, ``slices`` compute slices."""

    key: str
    title: str
    units: int
    slices: int
    verified: str
    assumed: bool
    profiles: tuple[Profile, ...]

    def share_bp(self, profile: Profile) -> int:
        """Compute share of one instance, rounded down so that a full card never exceeds 10 000."""
        return profile.compute_slices * 10_000 // self.slices

    def memory_of(self, profile: Profile, card_mib: int) -> int:
        """Real MiB of one instance on a card that offers ``card_mib``; instances never add up to more."""
        part = card_mib * profile.units // self.units
        return min(profile.memory_mib, part) if profile.memory_mib else part


def _family(
    key: str,
    title: str,
    *,
    units: int,
    slices: int,
    verified: str,
    assumed: bool,
    rows: tuple[Row, ...],
) -> Family:
    profiles = tuple(Profile(*row, assumed=assumed or row[-1] == 0) for row in rows)
    return Family(key, title, units, slices, verified, assumed, profiles)


# name, GI profile id, compute slices, memory units, starts, max instances, memory MiB
_ROWS: Final = (
    _family(
        "A100-40GB",
        "A100 40GB (PCIe/SXM4)",
        units=8,
        slices=7,
        verified="-lgipp (guide, A100)",
        assumed=False,
        rows=(
            ("1g.5gb", 19, 1, 1, (0, 1, 2, 3, 4, 5, 6), 7, 4864),
            ("1g.5gb+me", 20, 1, 1, (0, 1, 2, 3, 4, 5, 6), 1, 4864),
            ("1g.10gb", 15, 1, 2, (0, 2, 4, 6), 4, 9851),
            ("2g.10gb", 14, 2, 2, (0, 2, 4), 3, 9851),
            ("3g.20gb", 9, 3, 4, (0, 4), 2, 19968),
            ("4g.20gb", 5, 4, 4, (0,), 1, 19968),
            ("7g.40gb", 0, 7, 8, (0,), 1, 40192),
        ),
    ),
    _family(
        "A100-80GB",
        "A100 80GB / A800 80GB",
        units=8,
        slices=7,
        verified="-lgipp (guide, A100)",
        assumed=False,
        rows=(
            ("1g.10gb", 19, 1, 1, (0, 1, 2, 3, 4, 5, 6), 7, 9851),
            ("1g.10gb+me", 20, 1, 1, (0, 1, 2, 3, 4, 5, 6), 1, 9851),
            ("1g.20gb", 15, 1, 2, (0, 2, 4, 6), 4, 19968),
            ("2g.20gb", 14, 2, 2, (0, 2, 4), 3, 19968),
            ("3g.40gb", 9, 3, 4, (0, 4), 2, 40192),
            ("4g.40gb", 5, 4, 4, (0,), 1, 40192),
            ("7g.80gb", 0, 7, 8, (0,), 1, 80384),
        ),
    ),
    _family(
        "H100-80GB",
        "H100 80GB (PCIe/SXM5) / H800 80GB",
        units=8,
        slices=7,
        verified="-lgip and -lgipp captures",
        assumed=False,
        rows=(
            ("1g.10gb", 19, 1, 1, (0, 1, 2, 3, 4, 5, 6), 7, 9984),
            ("1g.10gb+me", 20, 1, 1, (0, 1, 2, 3, 4, 5, 6), 1, 9984),
            ("1g.20gb", 15, 1, 2, (0, 2, 4, 6), 4, 20091),
            ("2g.20gb", 14, 2, 2, (0, 2, 4), 3, 20091),
            ("3g.40gb", 9, 3, 4, (0, 4), 2, 40448),
            ("4g.40gb", 5, 4, 4, (0,), 1, 40448),
            ("7g.80gb", 0, 7, 8, (0,), 1, 81152),
        ),
    ),
    _family(
        "H100-94GB",
        "H100 NVL 94GB",
        units=8,
        slices=7,
        verified="-lgip and -lgipp captures",
        assumed=False,
        rows=(
            ("1g.12gb", 19, 1, 1, (0, 1, 2, 3, 4, 5, 6), 7, 11008),
            ("1g.12gb+me", 20, 1, 1, (0, 1, 2, 3, 4, 5, 6), 1, 11008),
            ("1g.24gb", 15, 1, 2, (0, 2, 4, 6), 4, 22139),
            ("2g.24gb", 14, 2, 2, (0, 2, 4), 3, 22139),
            ("3g.47gb", 9, 3, 4, (0, 4), 2, 47493),
            ("4g.47gb", 5, 4, 4, (0,), 1, 47493),
            ("7g.94gb", 0, 7, 8, (0,), 1, 95355),
        ),
    ),
    _family(
        "H100-96GB",
        "H100 96GB (GH200 96GB) / H20 96GB",
        units=8,
        slices=7,
        verified="assumed same grid",
        assumed=True,
        rows=(
            ("1g.12gb", 19, 1, 1, (0, 1, 2, 3, 4, 5, 6), 7, 0),
            ("1g.12gb+me", 20, 1, 1, (0, 1, 2, 3, 4, 5, 6), 1, 0),
            ("1g.24gb", 15, 1, 2, (0, 2, 4, 6), 4, 0),
            ("2g.24gb", 14, 2, 2, (0, 2, 4), 3, 0),
            ("3g.48gb", 9, 3, 4, (0, 4), 2, 0),
            ("4g.48gb", 5, 4, 4, (0,), 1, 0),
            ("7g.96gb", 0, 7, 8, (0,), 1, 0),
        ),
    ),
    _family(
        "H200-141GB",
        "H200 141GB / GH200 144GB",
        units=8,
        slices=7,
        verified="counts and ids from capture; starts assumed same grid",
        assumed=True,
        rows=(
            ("1g.18gb", 19, 1, 1, (0, 1, 2, 3, 4, 5, 6), 7, 16384),
            ("1g.18gb+me", 20, 1, 1, (0, 1, 2, 3, 4, 5, 6), 1, 16384),
            ("1g.35gb", 15, 1, 2, (0, 2, 4, 6), 4, 33280),
            ("2g.35gb", 14, 2, 2, (0, 2, 4), 3, 33280),
            ("3g.71gb", 9, 3, 4, (0, 4), 2, 0),
            ("4g.71gb", 5, 4, 4, (0,), 1, 0),
            ("7g.141gb", 0, 7, 8, (0,), 1, 143360),
        ),
    ),
    _family(
        "B200-180GB",
        "B200 180GB",
        units=8,
        slices=7,
        verified="assumed same grid; about 20.5-21 GiB usable per 1g.23gb; SM from go-nvml mock",
        assumed=True,
        rows=(
            ("1g.23gb", 19, 1, 1, (0, 1, 2, 3, 4, 5, 6), 7, 0),
            ("1g.23gb+me", 20, 1, 1, (0, 1, 2, 3, 4, 5, 6), 1, 0),
            ("1g.45gb", 15, 1, 2, (0, 2, 4, 6), 4, 0),
            ("2g.45gb", 14, 2, 2, (0, 2, 4), 3, 0),
            ("3g.90gb", 9, 3, 4, (0, 4), 2, 0),
            ("4g.90gb", 5, 4, 4, (0,), 1, 0),
            ("7g.180gb", 0, 7, 8, (0,), 1, 0),
        ),
    ),
    _family(
        "GB200-186GB",
        "GB200 186GB",
        units=8,
        slices=7,
        verified="assumed same grid",
        assumed=True,
        rows=(
            ("1g.23gb", 19, 1, 1, (0, 1, 2, 3, 4, 5, 6), 7, 0),
            ("1g.23gb+me", 20, 1, 1, (0, 1, 2, 3, 4, 5, 6), 1, 0),
            ("1g.47gb", 15, 1, 2, (0, 2, 4, 6), 4, 0),
            ("2g.47gb", 14, 2, 2, (0, 2, 4), 3, 0),
            ("3g.93gb", 9, 3, 4, (0, 4), 2, 0),
            ("4g.93gb", 5, 4, 4, (0,), 1, 0),
            ("7g.186gb", 0, 7, 8, (0,), 1, 0),
        ),
    ),
    _family(
        "B300-269GB",
        "B300 (unverified names)",
        units=8,
        slices=7,
        verified="names and counts from an AWS page only; not checked against nvidia-smi",
        assumed=True,
        rows=(
            ("1g.34gb", 19, 1, 1, (0, 1, 2, 3, 4, 5, 6), 7, 0),
            ("1g.34gb+me", 20, 1, 1, (0, 1, 2, 3, 4, 5, 6), 1, 0),
            ("1g.67gb", 15, 1, 2, (0, 2, 4, 6), 4, 0),
            ("2g.67gb", 14, 2, 2, (0, 2, 4), 3, 0),
            ("3g.135gb", 9, 3, 4, (0, 4), 2, 0),
            ("4g.135gb", 5, 4, 4, (0,), 1, 0),
            ("7g.269gb", 0, 7, 8, (0,), 1, 0),
        ),
    ),
    _family(
        "A30-24GB",
        "A30 24GB",
        units=4,
        slices=4,
        verified="-lgip and -lgipp captures",
        assumed=False,
        rows=(
            ("1g.6gb", 14, 1, 1, (0, 1, 2, 3), 4, 5949),
            ("1g.6gb+me", 21, 1, 1, (0, 1, 2, 3), 1, 5949),
            ("2g.12gb", 5, 2, 2, (0, 2), 2, 11971),
            ("2g.12gb+me", 6, 2, 2, (0, 2), 1, 11971),
            ("4g.24gb", 0, 4, 4, (0,), 1, 24003),
        ),
    ),
    _family(
        "RTX-PRO-6000-96GB",
        "RTX PRO 6000 Blackwell 96GB (Server / Workstation / Max-Q)",
        units=12,
        slices=4,
        verified="-lgip and -lgipp captures",
        assumed=False,
        rows=(
            ("1g.24gb", 14, 1, 3, (0, 3, 6, 9), 4, 24187),
            ("1g.24gb+me", 21, 1, 3, (0, 3, 6, 9), 1, 24187),
            ("1g.24gb+gfx", 47, 1, 3, (0, 3, 6, 9), 4, 24187),
            ("1g.24gb+me.all", 65, 1, 3, (0, 3, 6, 9), 1, 24187),
            ("1g.24gb-me", 67, 1, 3, (0, 3, 6, 9), 4, 24187),
            ("2g.48gb", 5, 2, 6, (0, 6), 2, 48517),
            ("2g.48gb+gfx", 35, 2, 6, (0, 6), 2, 48517),
            ("2g.48gb+me.all", 64, 2, 6, (0, 6), 1, 48517),
            ("2g.48gb-me", 66, 2, 6, (0, 6), 2, 48517),
            ("4g.96gb", 0, 4, 12, (0,), 1, 97280),
            ("4g.96gb+gfx", 32, 4, 12, (0,), 1, 97280),
        ),
    ),
)

FAMILIES: Final[dict[str, Family]] = {family.key: family for family in _ROWS}
