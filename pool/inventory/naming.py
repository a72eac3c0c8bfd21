"""Names in the order in which a person would put them: node-2 before node-10, whatever the case."""

import re
from typing import Any

from django.db import models

_DIGITS = re.compile(r"0*([0-9]+)")


def natural_key(text: str) -> str:
    """Text that sorts as a person would sort `text`: the length of a number stands before its digits.

    In hexadecimal digits of its UTF-8: the languages that databases sort by weigh "-" and letters differently.
    """
    padded = _DIGITS.sub(lambda found: f"{len(found[1]):03d}{found[1]}", text.casefold())
    return padded.encode(errors="surrogatepass").hex()


class NaturalKey(models.TextField):  # type: ignore[type-arg]  # Django knows no parameters at run time
    """The natural key of another field of the row, `source`; filled whenever the row is inserted or saved."""

    def __init__(self, source: str, **more: Any) -> None:
        self.source = source
        super().__init__(**{"default": "", "editable": False, **more})

    def deconstruct(self) -> Any:
        name, path, args, more = super().deconstruct()
        return name, path, args, {**more, "source": self.source}

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        key = natural_key(getattr(model_instance, self.source))
        setattr(model_instance, self.attname, key)
        return key
