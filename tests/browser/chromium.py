"""Where Chromium is, and how it is started. `WEIR_CHROMIUM` names its file if it is not on the path."""

import os
import shutil

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium_path() -> str | None:
    named = os.environ.get("WEIR_CHROMIUM")
    return named or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
