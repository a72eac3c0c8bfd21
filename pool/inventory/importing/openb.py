"""The node list of the openb trace (Alibaba cluster-trace-gpu-v2023): `sn,cpu_milli,memory_mib,gpu,model`."""

import csv
import io
from typing import Final

from pool.inventory.importing.drafts import DeviceDraft, FleetDraft, NodeDraft, SiteDraft
from pool.inventory.importing.fields import NAME, NAME_RULE
from pool.inventory.importing.problems import Problems
from pool.inventory.known_models import KNOWN, KnownModel

COLUMNS: Final = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
DEFAULT_SITE: Final = "openb"
_MOST_DEVICES: Final = 64
_LARGEST: Final = {"cpu_milli": 2**31 - 1, "memory_mib": 2**40, "gpu": _MOST_DEVICES}


def looks_like(text: str) -> bool:
    """Whether the first line is the header of such a list, in any order of columns."""
    first = text.split("\n", 1)[0].strip()
    return "," in first and {"sn", "cpu_milli", "gpu"} <= {part.strip() for part in first.split(",")}


def read(text: str, site: str) -> FleetDraft:
    """Raises InvalidInput naming line and column of everything that is wrong."""
    problems = Problems()
    if not NAME.fullmatch(site):
        problems.add("site", NAME_RULE)
    rows = csv.reader(io.StringIO(text), strict=True)
    nodes: dict[str, NodeDraft] = {}
    try:
        header = [part.strip() for part in next(rows)]
        _check_header(header, problems)
        for row in rows:
            _add(row, header, rows.line_num, site, nodes, problems)
    except csv.Error as error:
        problems.add(f"line {rows.line_num}", str(error))
    if not nodes and not problems:
        problems.add("file", "names no node")
    problems.raise_any()
    return FleetDraft(sites=(SiteDraft(name=site),), nodes=tuple(nodes.values()), format="openb")


def _check_header(header: list[str], problems: Problems) -> None:
    for name in COLUMNS:
        if name not in header:
            problems.add(f"line 1: {name}", "is missing from the header")
    for name in header:
        if name not in COLUMNS:
            problems.add(f"line 1: {name or '(empty)'}", f"is no column of this list; known: {', '.join(COLUMNS)}")
    if len(set(header)) != len(header):
        problems.add("line 1", "names a column twice")
    problems.raise_any()


def _add(
    row: list[str],
    header: list[str],
    line: int,
    site: str,
    nodes: dict[str, NodeDraft],
    problems: Problems,
) -> None:
    if not row:
        return
    if len(row) != len(header):
        problems.add(f"line {line}", f"has {len(row)} columns, the header has {len(header)}")
        return
    values = {name: value.strip() for name, value in zip(header, row, strict=True)}
    name = values["sn"]
    if not NAME.fullmatch(name):
        problems.add(f"line {line}: sn", f"{name[:80]!r} {NAME_RULE}")
        return
    if name in nodes:
        problems.add(f"line {line}: sn", f"{name!r} is named before, in {nodes[name].where}")
        return
    cpu = _whole(values, "cpu_milli", line, problems)
    memory = _whole(values, "memory_mib", line, problems)
    count = _whole(values, "gpu", line, problems, low=0)
    model = _model(values["model"], count, line, problems)
    if cpu is None or memory is None or count is None:
        return
    devices = tuple(_device(index, model, line) for index in range(count)) if model else ()
    nodes[name] = NodeDraft(
        name=name, site=site, cpu_milli=cpu, memory_mib=memory, devices=devices, where=f"line {line}"
    )


def _device(index: int, model: KnownModel, line: int) -> DeviceDraft:
    return DeviceDraft(index=index, model=model.name, memory_mib=model.memory_mib, where=f"line {line}")


def _model(name: str, count: int | None, line: int, problems: Problems) -> KnownModel | None:
    if not name and not count:
        return None
    if name not in KNOWN:
        problems.add(f"line {line}: model", f"{name[:80]!r} is not a known model; known: {', '.join(KNOWN)}")
        return None
    return KNOWN[name]


def _whole(values: dict[str, str], name: str, line: int, problems: Problems, low: int = 1) -> int | None:
    text, high = values[name], _LARGEST[name]
    if text.isascii() and text.isdigit() and len(text) < 15 and low <= int(text) <= high:
        return int(text)
    problems.add(f"line {line}: {name}", f"{text[:80]!r} is not a whole number from {low} to {high}")
    return None
