"""Typed query parameters and bodies; what is unknown is an error, never ignored."""

from typing import Any

from django.http import QueryDict
from rest_framework import serializers

from console.common.api.problems import flatten
from console.common.errors import FieldError, InvalidInput

_PAGING = ("cursor", "limit")


class Filters(serializers.Serializer[Any]):
    """Query parameters of a list. Every list can be exported."""

    format = serializers.ChoiceField(
        choices=["json", "csv", "xlsx"], required=False, help_text="csv and xlsx export every row that matches"
    )


def read(kind: type[serializers.Serializer[Any]], given: QueryDict) -> dict[str, Any]:
    """The parameters that were given, as values. Raises InvalidInput for an unknown, repeated or wrong one."""
    fields = list(kind().fields)
    known = {*fields, *_PAGING} if issubclass(kind, Filters) else set(fields)
    errors = [FieldError(name, "is not a parameter here") for name in given if name not in known]
    errors += [FieldError(name, "is given twice; give it once") for name in fields if len(given.getlist(name)) > 1]
    errors += [FieldError(name, "contains the NUL character") for name in fields if "\0" in given.get(name, "")]
    if errors:
        raise InvalidInput(errors)
    # an empty parameter is what an untouched form field sends: no filter
    return _validated(kind(data={name: given[name] for name in fields if given.get(name)}))


def body(kind: type[serializers.Serializer[Any]], given: dict[str, Any]) -> dict[str, Any]:
    """A request body as values; unknown fields are errors."""
    form = kind(data=given)
    unknown = sorted(set(given) - {name for name, field in form.fields.items() if not field.read_only})
    if unknown:
        known = ", ".join(name for name, field in form.fields.items() if not field.read_only)
        message = f"is not a field here; known are {known}" if known else "is not a field here: none is expected"
        raise InvalidInput([FieldError(name, message) for name in unknown])
    return _validated(form)


def _validated(form: serializers.Serializer[Any]) -> dict[str, Any]:
    if not form.is_valid():
        raise InvalidInput(flatten(form.errors))
    return dict(form.validated_data)
