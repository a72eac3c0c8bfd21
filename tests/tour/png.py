"""Makes a screenshot small: at most 256 colours, so that a page of the console takes some 50 KB in place of 170."""

import struct
import zlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

MAGIC = b"\x89PNG\r\n\x1a\n"
COLOURS = 256
Pixels = npt.NDArray[np.uint8]
Colours = npt.NDArray[np.int32]


def smaller(png: bytes) -> bytes:
    """An indexed PNG of a truecolour one with eight bits a channel and no interlacing, as Chromium writes it."""
    indexes, palette = _indexed(decode(png))
    height, width = indexes.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), indexes], axis=1)  # filter 0: best for indexes
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = [(b"IHDR", head), (b"PLTE", palette.tobytes()), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b"")]
    return MAGIC + b"".join(chunk(kind, data) for kind, data in parts)


def decode(png: bytes) -> Pixels:
    """height x width x 3."""
    if not png.startswith(MAGIC):
        raise ValueError("not a PNG")
    parts = list(chunks(png))
    width, height, depth, kind, _compression, _filter, interlaced = struct.unpack(">IIBBBBB", parts[0][1])
    if depth != 8 or kind not in {2, 6} or interlaced:
        raise ValueError("only plain truecolour with eight bits a channel")
    step = 3 if kind == 2 else 4
    raw = zlib.decompress(b"".join(data for name, data in parts if name == b"IDAT"))
    lines = np.frombuffer(raw, np.uint8).reshape(height, 1 + width * step)
    above = np.zeros(width * step, np.uint8)
    pixels = np.empty((height, width * step), np.uint8)
    for number, line in enumerate(lines):
        above = pixels[number] = _unfiltered(int(line[0]), line[1:], above, step)
    return pixels.reshape(height, width, step)[:, :, :3]


def _unfiltered(kind: int, line: Pixels, above: Pixels, step: int) -> Pixels:
    """PNG specification, section 9: filter types for prediction."""
    if kind == 0:
        return line
    if kind == 1:
        return np.cumsum(line.reshape(-1, step), axis=0, dtype=np.uint8).reshape(-1)
    if kind == 2:
        return line + above
    out, up = bytearray(line.tobytes()), above.tobytes()
    for i in range(len(out)):
        left, corner = (out[i - step], up[i - step]) if i >= step else (0, 0)
        guess = (left + up[i]) // 2 if kind == 3 else _paeth(left, up[i], corner)
        out[i] = (out[i] + guess) & 255
    return np.frombuffer(bytes(out), np.uint8)


def _paeth(left: int, up: int, corner: int) -> int:
    estimate = left + up - corner
    off = (abs(estimate - left), abs(estimate - up), abs(estimate - corner))
    return (left, up, corner)[off.index(min(off))]


def _indexed(pixels: Pixels) -> tuple[Pixels, Pixels]:
    """Each colour becomes the nearest of the palette."""
    flat = pixels.reshape(-1, 3).astype(np.uint32)
    colours, where, count = np.unique(flat @ (65536, 256, 1), return_inverse=True, return_counts=True)
    found = np.stack([colours >> 16 & 255, colours >> 8 & 255, colours & 255], axis=1).astype(np.int32)
    palette = _palette(found, count)
    nearest = np.empty(len(found), np.uint8)
    for at in range(0, len(found), 2048):
        nearest[at : at + 2048] = _distance(found[at : at + 2048, None], palette[None]).argmin(axis=1)
    return nearest[where].reshape(pixels.shape[:2]), palette.astype(np.uint8)


def _palette(found: Colours, count: Colours) -> Colours:
    """The most frequent first; then, one by one, what is farthest from all before and not rare: the one red word."""
    order = np.argsort(-count, kind="stable")
    chosen = list(order[: COLOURS // 2])
    off = np.min([_distance(found, found[i]) for i in chosen], axis=0)
    while len(chosen) < min(COLOURS, len(found)):
        worst = int((off * np.sqrt(count)).argmax())
        chosen.append(worst)
        off = np.minimum(off, _distance(found, found[worst]))
    return found[chosen]


def _distance(one: Colours, other: Colours) -> Colours:
    squares: Colours = ((one - other) ** 2).sum(axis=-1)
    return squares


def chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(MAGIC)
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
