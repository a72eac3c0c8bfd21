"""Serves what Python wheels carry for the browser: plotly.js, under static/vendor/. Nothing is committed or fetched."""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage, Storage

PREFIX = "vendor"


class VendorFinder(BaseFinder):
    """One file of the wheel `plotly`; the other 5 MB of its data stay where they are."""

    def __init__(self, app_names: Any = None, *args: Any, **kwargs: Any) -> None:
        self.folder = Path(str(files("plotly") / "package_data"))
        self.storage = FileSystemStorage(location=self.folder)
        self.storage.prefix = PREFIX  # type: ignore[attr-defined]
        self.names = ("plotly.min.js",)
        super().__init__(*args, **kwargs)

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        name = path.removeprefix(f"{PREFIX}/")
        if path == name or name not in self.names:
            return []
        found = str(self.folder / name)
        return [found] if find_all else found

    def list(self, ignore_patterns: Any) -> Iterator[tuple[str, Storage]]:
        for name in self.names:
            yield name, self.storage
