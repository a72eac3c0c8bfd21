"""Fonts for printed pages: one that has Chinese, found among the system's or in WEIR_FONT_PATHS."""

from functools import lru_cache

import typst
from django.conf import settings

from console.common.errors import WeirError

# families that have Latin and simplified Chinese, the best first
CHINESE = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "PingFang SC",
    "Microsoft YaHei",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Noto Serif CJK SC",
)


class FontMissing(WeirError):
    """Nothing that has Chinese is installed: a page of empty boxes would be worse than none."""

    status = 409
    code = "font_missing"


@lru_cache(maxsize=1)
def found() -> typst.Fonts:
    """Read once a process: looking through the font folders takes longer than setting a page."""
    paths = [path for path in str(settings.WEIR_FONT_PATHS).split(":") if path]
    return typst.Fonts(include_system_fonts=True, font_paths=paths)


def families() -> list[str]:
    """The family to set in. Raises FontMissing, with what to install."""
    installed = set(found().families())
    for family in CHINESE:
        if family in installed:
            return [family]
    raise FontMissing(
        "no font with Chinese characters was found, so the PDF cannot be made: install one"
        " (apt-get install fonts-noto-cjk), or name its folder in WEIR_FONT_PATHS, and restart"
    )
