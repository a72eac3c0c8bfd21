"""`manage.py check`: a wrong money setting is named at the start, not on the first bill."""

from collections.abc import Callable
from typing import Any

from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured

from billing import config

READ: tuple[Callable[[], object], ...] = (config.entry, config.currency, config.basis, config.zone, config.settle_lag)


@register()
def settings_make_sense(**_: Any) -> list[CheckMessage]:
    errors: list[CheckMessage] = []
    for read in READ:
        try:
            read()
        except ImproperlyConfigured as error:
            message = Error(str(error), id="billing.E001")
            if message not in errors:
                errors.append(message)
    return errors
