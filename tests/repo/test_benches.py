"""Every benchmark can still be started: nobody runs all of them after each change."""

import ast
import importlib.util
from pathlib import Path

import pytest

BENCHES = sorted(path.stem for path in (Path(__file__).parents[1] / "bench").glob("[!_]*.py"))


@pytest.mark.parametrize("name", BENCHES)
def test_what_a_bench_imports_is_there(name: str) -> None:
    """Not the module itself: some choose their settings when they start."""
    folder = Path(__file__).parents[1]
    tree = ast.parse((folder / "bench" / f"{name}.py").read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module and node.module.startswith("tests."):
            module = importlib.import_module(node.module)
            missing = [alias.name for alias in node.names if not _has(module, node.module, alias.name)]
            assert not missing, f"{name} imports {missing} from {node.module}, which has no such thing"


def _has(module: object, path: str, name: str) -> bool:
    if hasattr(module, name):
        return True
    return importlib.util.find_spec(f"{path}.{name}") is not None
