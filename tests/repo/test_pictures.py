"""The pictures of the documents: each that is shown is there, none is left over, none is heavy."""

import re
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from tests.repo.files import ROOT, text_of, tracked
from tests.tour.pictures import LANGUAGES, STEPS, THEMES
from tests.tour.png import MAGIC, Pixels, chunk, chunks, decode, smaller

IMAGES = ROOT / "docs" / "img"
MOST = 250 * 1024
NAMED = re.compile(r"[\w./-]*img/[\w-]+\.png")


def shown() -> set[Path]:
    pages = [path for path in tracked() if path.suffix == ".md"]
    return {(ROOT / page.parent / name).resolve() for page in pages for name in NAMED.findall(text_of(page))}


def test_what_is_shown_is_there_and_nothing_else() -> None:
    there = {path.resolve() for path in IMAGES.iterdir()}
    assert shown() == there


def test_the_tour_is_there_in_both_languages_and_themes() -> None:
    wanted = {f"{step}-{language}-{theme}.png" for step in STEPS for language in LANGUAGES for theme in THEMES}
    assert {path.name for path in IMAGES.iterdir()} == wanted


def test_none_is_heavy() -> None:
    assert {path.name: path.stat().st_size for path in IMAGES.iterdir() if path.stat().st_size > MOST} == {}


@pytest.mark.parametrize("step", [3, 4])
@pytest.mark.parametrize("kind", range(5))
def test_every_filter_is_read_back_and_few_colours_survive(kind: int, step: int) -> None:
    pixels = np.random.default_rng(7).integers(0, 4, (6, 5, step), np.uint8) * 60
    made = truecolour(pixels, kind)
    assert np.array_equal(decode(made), pixels[:, :, :3])
    assert np.array_equal(indexed(smaller(made)), pixels[:, :, :3])


def truecolour(pixels: Pixels, kind: int) -> bytes:
    """A PNG whose every row has the filter `kind`."""
    height, width, step = pixels.shape
    flat = np.zeros((height + 1, (width + 1) * step), np.int32)  # a row above and a pixel to the left, both zero
    flat[1:, step:] = pixels.reshape(height, -1)
    here, left, up, corner = flat[1:, step:], flat[1:, :-step], flat[:-1, step:], flat[:-1, :-step]
    away = [abs(left + up - corner - each) for each in (left, up, corner)]
    paeth = np.where((away[0] <= away[1]) & (away[0] <= away[2]), left, np.where(away[1] <= away[2], up, corner))
    guess = (np.zeros_like(here), left, up, (left + up) // 2, paeth)[kind]
    rows = np.concatenate([np.full((height, 1), kind), (here - guess) % 256], axis=1).astype(np.uint8)
    head = struct.pack(">IIBBBBB", width, height, 8, 2 if step == 3 else 6, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b""))
    return MAGIC + b"".join(chunk(name, data) for name, data in parts)


def indexed(png: bytes) -> Pixels:
    found = dict(chunks(png))
    width, height = struct.unpack_from(">II", found[b"IHDR"])
    palette = np.frombuffer(found[b"PLTE"], np.uint8).reshape(-1, 3)
    rows = np.frombuffer(zlib.decompress(found[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert not rows[:, 0].any()
    colours: Pixels = palette[rows[:, 1:]]
    return colours


def test_what_is_no_such_picture_is_refused() -> None:
    with pytest.raises(ValueError, match="not a PNG"):
        decode(b"GIF89a")
