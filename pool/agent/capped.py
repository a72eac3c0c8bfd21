"""Output of unbounded length on a bounded disk: the beginning and the end are kept, the middle goes.

A stream is a run of files `<stream>.<offset of its first byte>`. The first holds the head, later ones are
segments of the tail; past the cap the oldest segment of the tail is deleted. Offsets count all bytes ever
written, so a reader sees what is missing.
"""

import os
from collections.abc import Iterator
from pathlib import Path

HEAD = 1 << 20
SEGMENT = 1 << 19
SEGMENTS = 6


class Writer:
    """Appends to one stream. What the disk has no room for is dropped and leaves a gap, never an error."""

    def __init__(self, folder: Path, stream: str, head: int = HEAD, segment: int = SEGMENT) -> None:
        self.folder, self.stream = folder, stream
        self.head, self.segment = head, segment
        self.end = 0
        self.dropped = 0
        self._start = 0
        self._file: int | None = None
        self._tail: list[int] = []

    def write(self, data: bytes) -> None:
        while data:
            room = self._limit() - (self.end - self._start)
            if self._file is None or room <= 0:
                self._open_next()
                room = self._limit()
            piece, data = data[:room], data[room:]
            self._append(piece)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _limit(self) -> int:
        return self.head if self._start == 0 else self.segment

    def _append(self, piece: bytes) -> None:
        written = 0
        try:
            if self._file is not None:
                written = os.write(self._file, piece)
        except OSError:
            written = 0
        self.end += len(piece)
        if written < len(piece):
            # the file no longer lines up with its name: the rest goes to a new one
            self.dropped += len(piece) - written
            self.close()

    def _open_next(self) -> None:
        self.close()
        self._start = self.end
        path = self.folder / f"{self.stream}.{self.end}"
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError:
            return
        if self.end:
            self._tail.append(self.end)
        if len(self._tail) > SEGMENTS:
            (self.folder / f"{self.stream}.{self._tail.pop(0)}").unlink(missing_ok=True)


def segments(folder: Path, stream: str) -> list[int]:
    """Offsets at which the files of a stream begin, in order."""
    names = (path.name.rpartition(".") for path in folder.glob(f"{stream}.*"))
    return sorted(int(start) for name, _, start in names if name == stream and start.isdigit())


def read(folder: Path, stream: str, offset: int, most: int) -> tuple[int, bytes]:
    """The bytes at `offset`, or at the next offset that is still there; (offset, b"") at the end."""
    for start, end in _ranges(folder, stream):
        if end <= offset:
            continue
        at = max(offset, start)
        try:
            with open(folder / f"{stream}.{start}", "rb") as file:
                file.seek(at - start)
                data = file.read(most)
        except FileNotFoundError:  # cut out of the middle just now
            continue
        if data:
            return at, data
    return offset, b""


def _ranges(folder: Path, stream: str) -> Iterator[tuple[int, int]]:
    for start in segments(folder, stream):
        try:
            yield start, start + (folder / f"{stream}.{start}").stat().st_size
        except FileNotFoundError:
            continue
