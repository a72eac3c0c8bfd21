"""Errors that a person or a client can act on. Views and the API turn them into pages and problem details."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldError:
    """`field` is a path such as `roles[0].gpu_fraction`; `message` says what was wrong and what is right."""

    field: str
    message: str


class WeirError(Exception):
    """Base of all expected refusals. `code` is stable, `status` is the HTTP status."""

    status = 400
    code = "bad_request"

    def __init__(self, message: str, *, code: str = "") -> None:
        super().__init__(message)
        self.message = message
        if code:
            self.code = code


class InvalidInput(WeirError):
    """Bad input: nothing was stored."""

    status = 422
    code = "invalid"

    def __init__(self, errors: list[FieldError]) -> None:
        super().__init__("; ".join(f"{error.field}: {error.message}" for error in errors))
        self.errors = errors


class NotAllowed(WeirError):
    status = 403
    code = "not_allowed"


class NotFound(WeirError):
    """Also for what exists but is another tenant's: the two cannot be told apart."""

    status = 404
    code = "not_found"


class Conflict(WeirError):
    """The object is not in a state that allows the action, or someone else was first."""

    status = 409
    code = "conflict"
