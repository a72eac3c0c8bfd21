"""Steps of migrations that Django's own would do as well, but slowly: it renders all models anew for each of them."""

from typing import Any

from django.db import migrations
from django.db.migrations.operations.base import Operation

_NO_MODELS: Any = None


class Hook(migrations.RunPython):
    """RunPython for what needs no models."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        self.code(_NO_MODELS, schema_editor)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if self.reverse_code is not None:
            self.reverse_code(_NO_MODELS, schema_editor)


class Together(Operation):
    """Several CreateModel, after which the models are rendered once."""

    def __init__(self, *tables: migrations.CreateModel) -> None:
        self.tables = tables

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        return type(self).__qualname__, list(self.tables), {}

    def state_forwards(self, app_label: str, state: Any) -> None:
        state.__dict__.pop("apps", None)  # or each table would render all that is related to it
        for table in self.tables:
            table.state_forwards(app_label, state)

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        for table in self.tables:
            table.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        for table in reversed(self.tables):
            table.database_backwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        return f"Create {len(self.tables)} tables"
