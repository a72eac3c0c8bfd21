"""Which processes `manage.py up` runs, and how each is started."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from console.embedded import preflight, probes, valkey
from console.embedded.options import BASE_DIR, Options
from console.embedded.spec import Spec

Facts = Mapping[str, str]


@dataclass(frozen=True)
class Plan:
    """`first` start as soon as the tables stand, `rest` once `prepare` is through and has handed its facts over."""

    valkey: Spec | None
    prepare: Spec
    first: Sequence[Spec]
    rest: Callable[[Facts], Sequence[Spec]]
    notes: Sequence[str] = field(default_factory=tuple)
