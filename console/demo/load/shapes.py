"""What kinds of work there are, and how each kind makes a job of a task of the trace."""

from dataclasses import dataclass
from random import Random
from typing import Any, Final

from console.demo.fleet import CARDS, MODELS
from console.demo.load.tasks import Task

_MOST_CPU: Final = 15_000  # a card: eight of them fit a node
_MOST_MEMORY: Final = 120_000
_PROFILES: Final[dict[str, tuple[tuple[str, int], ...]]] = {
    "H100-80GB": (("1g.10gb", 4), ("2g.20gb", 3), ("3g.40gb", 2), ("4g.40gb", 1)),
    "A100-40GB": (("1g.5gb", 4), ("2g.10gb", 3), ("3g.20gb", 2), ("4g.20gb", 1)),
}


@dataclass(frozen=True, slots=True)
class Shape:
    """`weight`: part of the jobs that arrive. `names`: {n} becomes a number. `queue`: which of a tenant's it likes."""

    kind: str
    weight: float
    names: tuple[str, ...]
    command: tuple[str, ...]
    queue: str = ""


SHAPES: Final = (
    Shape("fraction", 0.32, ("eval-sweep-{n}", "asr-batch-{n}", "notebook-{n}"), ("python", "evaluate.py"), "eval"),
    Shape("whole", 0.22, ("finetune-{n}", "whisper-batch-{n}", "risk-grid-{n}"), ("python", "finetune.py"), "batch"),
    Shape("node", 0.20, ("sft-7b-{n}", "video-encoder-{n}"), ("torchrun", "--nproc-per-node=8", "sft.py"), "train"),
    Shape(
        "gang", 0.16, ("llama-70b-sft", "moe-pretrain-{n}", "diffusion-xl-{n}"), ("torchrun", "pretrain.py"), "train"
    ),
    Shape("mig", 0.14, ("sd-xl-portal-{n}", "tts-serve-{n}", "rank-serve-{n}"), ("python", "serve.py"), "serve"),
)


def resources(shape: Shape, task: Task, rng: Random) -> dict[str, Any]:
    """The resource fields of a job specification."""
    return _MAKERS[shape.kind](task, rng)


def _fraction(task: Task, rng: Random) -> dict[str, Any]:
    percent = task.percent if task.percent < 100 else rng.choice((1, 6, 12, 25, 33, 50, 75))
    replicas = rng.choice((1, 2, 4, 6, 8, 12))
    spec = {"gpus": 1, "gpu_fraction": f"{percent / 100:.2f}", "replicas": replicas, "isolation": "vgpu"}
    # a sweep is no gang: whatever fits may start
    return {**spec, "min_member": 1, "models": _either(rng), **_host(task, percent / 100)}


def _whole(task: Task, rng: Random) -> dict[str, Any]:
    gpus = task.gpus if task.gpus < CARDS else rng.choice((1, 2, 4))
    return {"gpus": gpus, "replicas": rng.choice((1, 1, 2, 4)), "models": _either(rng), **_host(task, gpus)}


def _node(task: Task, rng: Random) -> dict[str, Any]:
    return {"gpus": CARDS, "replicas": 1, "models": [rng.choice(MODELS)], **_host(task, CARDS)}


def _gang(task: Task, rng: Random) -> dict[str, Any]:
    nodes = rng.choice((2, 2, 2, 2, 2, 4, 4, 4, 8, 8))
    return {"gpus": CARDS, "replicas": nodes, "min_member": nodes, "models": [rng.choice(MODELS)], **_host(task, CARDS)}


def _mig(task: Task, rng: Random) -> dict[str, Any]:
    model = rng.choice(MODELS)
    profiles = _PROFILES[model]
    profile = rng.choices([name for name, _ in profiles], [weight for _, weight in profiles])[0]
    slices = int(profile[0])
    replicas = rng.choice((4, 6, 8, 12, 16))
    spec = {"gpus": 1, "mig_profile": profile, "replicas": replicas, "min_member": 1, "models": [model]}
    return {**spec, "bandwidth_sensitive": True, **_host(task, slices / 8)}


_MAKERS: Final = {"fraction": _fraction, "whole": _whole, "node": _node, "gang": _gang, "mig": _mig}


def _either(rng: Random) -> list[str]:
    return list(MODELS) if rng.random() < 0.6 else [rng.choice(MODELS)]


def _host(task: Task, cards: float) -> dict[str, int]:
    """CPU and memory of the trace, as far as a node can give each of its cards."""
    return {
        "cpu_milli": max(250, round(min(task.cpu_milli, _MOST_CPU * cards))),
        "memory_mib": max(512, round(min(task.memory_mib, _MOST_MEMORY * cards))),
    }
