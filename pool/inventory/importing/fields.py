"""Reads typed fields of a YAML mapping and says line, path and rule of whatever does not fit."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from pool.inventory.importing.marks import MappingNode, Node, ScalarNode, SequenceNode, line_of
from pool.inventory.importing.problems import Problems

NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,62}[A-Za-z0-9])?")
NAME_RULE: Final = "must be 1 to 64 letters, digits, and . _ / - inside"
_TAG: Final = "tag:yaml.org,2002:"
_MOST_ITEMS: Final = 100_000


class Table:
    """One mapping. Every field that is asked for is known; `close` reports the others."""

    def __init__(self, node: Node, path: str, problems: Problems) -> None:
        self.node, self.path, self.problems = node, path, problems
        self.cells: dict[str, Node] = {}
        self._asked: list[str] = []
        if not isinstance(node, MappingNode):
            self._say(node, path, f"must be a mapping of fields, not {_kind(node)}")
            return
        for key, value in node.value:
            self._put(key, value)

    def _put(self, key: Node, value: Node) -> None:
        if not isinstance(key, ScalarNode):
            self._say(key, self.path, "a field's name must be plain text")
        elif key.value in self.cells:
            self._say(key, self._under(key.value), "is written twice")
        else:
            self.cells[key.value] = value

    @property
    def where(self) -> str:
        return f"line {line_of(self.node)}: {self.path}" if self.path else f"line {line_of(self.node)}"

    def where_of(self, name: str) -> str:
        """The place of a field, or of the mapping that lacks it."""
        return f"line {line_of(self.cells.get(name, self.node))}: {self._under(name)}"

    def text(self, name: str, *, required: bool = False, pattern: re.Pattern[str] = NAME, rule: str = NAME_RULE) -> str:
        """The text of a field; empty when it is absent or wrong."""
        node = self._take(name, required)
        if node is None:
            return ""
        if not isinstance(node, ScalarNode) or node.tag != _TAG + "str":
            quote = " (write it in quotes)" if isinstance(node, ScalarNode) and node.value else ""
            self._say(node, self._under(name), f"must be text, not {_kind(node)}{quote}")
            return ""
        if not pattern.fullmatch(node.value):
            self._say(node, self._under(name), f"{node.value[:80]!r} {rule}")
            return ""
        return str(node.value)

    def whole(self, name: str, low: int, high: int, *, required: bool = False) -> int | None:
        """A whole number in decimal digits; None when it is absent or wrong."""
        node = self._take(name, required)
        if node is None:
            return None
        text = node.value if isinstance(node, ScalarNode) and node.tag == _TAG + "int" else ""
        if re.fullmatch(r"-?(0|[1-9][0-9]{0,14})", text) and low <= int(text) <= high:
            return int(text)
        self._say(node, self._under(name), f"{_shown(node)} is not a whole number from {low} to {high}")
        return None

    def number(self, name: str, low: Decimal, high: Decimal) -> Decimal | None:
        """A decimal number with at most four places; None when it is absent or wrong."""
        node = self._take(name, False)
        if node is None:
            return None
        plain = isinstance(node, ScalarNode) and node.tag in {_TAG + "int", _TAG + "float"}
        if plain and re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,4})?", node.value) and low <= Decimal(node.value) <= high:
            return Decimal(node.value)
        self._say(node, self._under(name), f"{_shown(node)} is not a number from {low} to {high}, four places at most")
        return None

    def flag(self, name: str) -> bool | None:
        node = self._take(name, False)
        if node is None:
            return None
        if isinstance(node, ScalarNode) and node.tag == _TAG + "bool":
            return str(node.value).lower() in {"true", "yes", "on"}
        self._say(node, self._under(name), f"{_shown(node)} is neither true nor false")
        return None

    def choice(self, name: str, allowed: Sequence[str], default: str = "") -> str:
        pattern = re.compile("|".join(map(re.escape, allowed)))
        return self.text(name, pattern=pattern, rule=f"is not one of {', '.join(allowed)}") or default

    def tables(self, name: str, *, required: bool = False) -> Iterator["Table"]:
        """The mappings of a list."""
        for index, item in enumerate(self._items(name, required)):
            yield Table(item, f"{self._under(name)}[{index}]", self.problems)

    def wholes(self, name: str, low: int, high: int) -> list[int]:
        """The whole numbers of a list."""
        found = []
        for index, item in enumerate(self._items(name, False)):
            text = item.value if isinstance(item, ScalarNode) and item.tag == _TAG + "int" else ""
            if re.fullmatch(r"[0-9]{1,9}", text) and low <= int(text) <= high:
                found.append(int(text))
            else:
                path = f"{self._under(name)}[{index}]"
                self._say(item, path, f"{_shown(item)} is not a whole number from {low} to {high}")
        return found

    def pairs(self, name: str) -> dict[str, str] | None:
        """A mapping of text to text, such as labels; None when it is absent."""
        node = self._take(name, False)
        if node is None:
            return None
        inner = Table(node, self._under(name), self.problems)
        return {key: inner.text(key, pattern=_VALUE, rule=_VALUE_RULE) for key in list(inner.cells)}

    def close(self) -> None:
        """Reports fields that nobody asked for."""
        for name, node in self.cells.items():
            if name not in self._asked:
                known = ", ".join(sorted(set(self._asked)))
                self._say(node, self._under(name), f"is not a field here; known: {known}")

    def _items(self, name: str, required: bool) -> list[Node]:
        node = self._take(name, required)
        if node is None:
            return []
        if not isinstance(node, SequenceNode):
            self._say(node, self._under(name), f"must be a list, not {_kind(node)}")
            return []
        if len(node.value) > _MOST_ITEMS:
            self._say(node, self._under(name), f"has more than {_MOST_ITEMS} items")
            return []
        return list(node.value)

    def _take(self, name: str, required: bool) -> Node | None:
        self._asked.append(name)
        node = self.cells.get(name)
        if node is None and required and isinstance(self.node, MappingNode):
            self.problems.add(self.where_of(name), "is missing")
        return node

    def _under(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def _say(self, node: Node, path: str, message: str) -> None:
        self.problems.add(f"line {line_of(node)}: {path}" if path else f"line {line_of(node)}", message)


_VALUE: Final = re.compile(r"[^\x00-\x1f\x7f]{0,200}")
_VALUE_RULE: Final = "must be at most 200 printable characters"


def _kind(node: Node) -> str:
    if isinstance(node, SequenceNode):
        return "a list"
    if isinstance(node, MappingNode):
        return "a mapping"
    if node.tag == _TAG + "null":
        return "nothing"
    return f"{_shown(node)} ({node.tag.removeprefix(_TAG)})"


def _shown(node: Node) -> str:
    return repr(node.value[:80]) if isinstance(node, ScalarNode) else _kind(node)
