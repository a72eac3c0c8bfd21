"""Collects what is wrong with a file, so that a person sees all of it at once."""

from console.common.errors import FieldError, InvalidInput

_MOST = 50  # a wrong separator makes every line wrong: nobody reads past this


class Problems:
    """`field` of each error is "line 12: sites[0].nodes[3].cpu_milli"."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []
        self._more = 0

    def add(self, where: str, message: str) -> None:
        if len(self.errors) < _MOST:
            self.errors.append(FieldError(where, message))
        else:
            self._more += 1

    def __bool__(self) -> bool:
        return bool(self.errors)

    def raise_any(self) -> None:
        """Raises InvalidInput when something was wrong."""
        if not self.errors:
            return
        if self._more:
            self.errors.append(FieldError("file", f"{self._more} more problems are not shown"))
        raise InvalidInput(self.errors)


def refuse(where: str, message: str) -> InvalidInput:
    """One problem that makes it useless to read on."""
    return InvalidInput([FieldError(where, message)])
