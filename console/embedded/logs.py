"""The log file of one child: rotated by size, never a reason for the child to stop."""

from pathlib import Path


class RotatingLog:
    """Appends bytes to `path`; at `limit` bytes the file becomes `path`.1 and so on, `keep` old ones in all."""

    def __init__(self, path: Path, limit: int = 10 * 1024 * 1024, keep: int = 3) -> None:
        self.path, self.limit, self.keep = path, limit, keep
        self._file = path.open("ab", buffering=0)
        self._size = self._file.tell()

    def write(self, data: bytes) -> bool:
        """Returns False when the line could not be kept (a full disk must not stop the child that speaks)."""
        try:
            if self._size + len(data) > self.limit and self._size:
                self._rotate()
            self._size += self._file.write(data)
        except OSError:
            return False
        return True

    def _rotate(self) -> None:
        self._file.close()
        for number in range(self.keep, 1, -1):
            older = self._numbered(number - 1)
            if older.exists():
                older.replace(self._numbered(number))
        self.path.replace(self._numbered(1))
        self._file = self.path.open("ab", buffering=0)
        self._size = 0

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")

    def close(self) -> None:
        self._file.close()
