"""Who lives in the demo: platform officers, four tenants, their people, projects and queues."""

from dataclasses import dataclass
from typing import Final

DOMAIN: Final = "weir.example"
OFFICERS: Final = (("ops", "operator"), ("finance", "finance"), ("audit", "auditor"))


@dataclass(frozen=True, slots=True)
class DemoQueue:
    """Limits as parts of the fleet's cards; None: none. Not `loaded`: left to people, so that they find room."""

    name: str
    quota: float = 0.0
    limit: float | None = None
    limit_running_jobs: int | None = None
    priority: int = 0
    weight: int = 1
    loaded: bool = True


@dataclass(frozen=True, slots=True)
class DemoTenant:
    """`limit`: part of the fleet's cards. `share`: of the jobs that arrive. `people`: (name, role)."""

    slug: str
    name: str
    limit: float
    share: float
    trust_group: str
    people: tuple[tuple[str, str], ...]
    projects: tuple[tuple[str, str], ...]
    queues: tuple[DemoQueue, ...]


TENANTS: Final = (
    DemoTenant(
        slug="aurora-lab",
        name="Aurora Lab 极光实验室",
        limit=0.55,
        share=0.34,
        trust_group="research",
        people=(("lin", "owner"), ("mei", "member"), ("tao", "member"), ("yan", "viewer"), ("fang", "billing")),
        projects=(("llm", "Language models"), ("vision", "Vision")),
        queues=(
            DemoQueue("default", 0.0, loaded=False),
            DemoQueue("train", 0.30, 0.50, priority=10, weight=3),
            DemoQueue("eval", 0.05, 0.0625),
        ),
    ),
    DemoTenant(
        slug="pixelforge",
        name="Pixelforge 像素工坊",
        limit=0.40,
        share=0.26,
        trust_group="",
        people=(("ada", "owner"), ("ben", "member"), ("kim", "billing")),
        projects=(("portal", "Image portal"), ("video", "Video")),
        queues=(DemoQueue("serve", 0.15, 0.25, priority=20, weight=2), DemoQueue("batch", 0.05, 0.20)),
    ),
    DemoTenant(
        slug="dialect",
        name="Dialect 方言科技",
        limit=0.25,
        share=0.20,
        trust_group="research",
        people=(("omar", "owner"), ("zhou", "member"), ("nina", "viewer")),
        projects=(("speech", "Speech"),),
        queues=(DemoQueue("default", 0.10, 0.25, limit_running_jobs=60),),
    ),
    DemoTenant(
        slug="northbridge",
        name="Northbridge 北桥算力",
        limit=0.45,
        share=0.20,
        trust_group="",
        people=(("sven", "owner"), ("hao", "member"), ("li", "billing")),
        projects=(("moe", "Mixture of experts"), ("risk", "Risk models")),
        queues=(DemoQueue("pretrain", 0.20, 0.40, priority=5, weight=2), DemoQueue("default", 0.05, 0.10)),
    ),
)


def email(name: str, slug: str = "") -> str:
    """mei@aurora-lab.weir.example; officers have no slug."""
    return f"{name}@{slug}.{DOMAIN}" if slug else f"{name}@{DOMAIN}"
