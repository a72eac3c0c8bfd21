"""YAML as a tree that remembers its lines. Refuses what could blow up or surprise before it is built."""

from typing import Final

import yaml
from yaml import MappingNode, Node, ScalarNode, SequenceNode

from pool.inventory.importing.problems import refuse

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml where the wheel carries it
DEEPEST: Final = 16

__all__ = ["MappingNode", "Node", "ScalarNode", "SequenceNode", "line_of", "tree"]


def tree(text: str) -> Node:
    """The document's root node. Raises InvalidInput naming the line."""
    try:
        _check(text)
        root = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}" if mark else "file"
        raise refuse(where, f"is not YAML: {error.problem or error.context or 'unreadable'}") from error
    except yaml.YAMLError as error:
        raise refuse("file", f"is not YAML: {error}") from error
    if root is None:
        raise refuse("file", "is empty")
    return root


def line_of(node: Node) -> int:
    """From 1, as editors count."""
    return int(node.start_mark.line) + 1


def _check(text: str) -> None:
    depth = documents = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = f"line {event.start_mark.line + 1}" if event.start_mark else "file"
        if isinstance(event, yaml.AliasEvent):
            # a few lines of aliases can stand for billions of nodes
            raise refuse(line, "aliases (*name) are not read; write it out, or use a range such as node[01-08]")
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
        elif isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if documents > 1:
            raise refuse(line, "a second document starts here; an inventory is one document")
        if depth > DEEPEST:
            raise refuse(line, f"is nested deeper than {DEEPEST} levels")
