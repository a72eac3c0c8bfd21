"""What a change of a quota would do to what runs. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from console.tenants.ports import Use


@dataclass(frozen=True, slots=True)
class Impact:
    """How far what is held now is over the new limits; 0: within."""

    use: Use
    over_bp: int
    over_jobs: int

    @property
    def is_over(self) -> bool:
        return bool(self.over_bp or self.over_jobs)


def impact_of(use: Use, limits: Mapping[str, int | None]) -> Impact:
    share, jobs = limits["limit_share_bp"], limits["limit_running_jobs"]
    return Impact(
        use,
        0 if share is None else max(0, use.share_bp - share),
        0 if jobs is None else max(0, use.running_jobs - jobs),
    )
