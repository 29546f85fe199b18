"""Parameter schemas from the argument structs: JSON Schema (draft 2020-12), without references."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from hudkit.tools.operation import Alias, Operation

_KINDS = {"string": "text", "integer": "a number", "boolean": "true or false", "null": "null", "object": "an object"}


def schema(operation: Operation | Alias) -> dict[str, Any]:
    """The schema of an operation's arguments, a new value each time."""
    return parameters(operation.arguments)


def parameters(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """The schema of a struct of arguments, a new value each time."""
    found: dict[str, Any] = _inlined(*_components(arguments))
    return found


@cache
def _components(arguments: type[msgspec.Struct]) -> tuple[dict[str, Any], dict[str, Any]]:
    (root,), parts = msgspec.json.schema_components((arguments,), ref_template="#/$defs/{name}")
    return root, parts


def _inlined(node: Any, parts: dict[str, Any]) -> Any:
    if isinstance(node, list | tuple):
        return [_inlined(one, parts) for one in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return _inlined({**parts[node["$ref"].rpartition("/")[2]], **beside}, parts)
    return {
        key: {name: _inlined(one, parts) for name, one in value.items()}
        if key == "properties"
        else _inlined(value, parts)
        for key, value in node.items()
        if key != "title"  # a struct's name says nothing to a caller
    }


def words(node: dict[str, Any]) -> str:
    """What a value must be, in words: `a number from 1 to 200`. The limit of texts is left out."""
    if "anyOf" in node:
        return " or ".join(dict.fromkeys(words(one) for one in node["anyOf"]))
    if "enum" in node:
        return " or ".join(f'"{value}"' for value in node["enum"])
    kind = node.get("type", "")
    if kind == "array":
        count = f" (at most {node['maxItems']})" if "maxItems" in node else ""
        return f"a list of {words(node.get('items', {})).replace(' or ', ', ')}{count}"
    if kind == "integer":
        least, most = node.get("minimum"), node.get("maximum")
        if least is not None and most is not None:
            return f"a number from {least} to {most}"
        return f"a number, at least {least}" if least is not None else "a number"
    return _KINDS.get(kind, "anything")
