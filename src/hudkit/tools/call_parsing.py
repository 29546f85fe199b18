"""What a model sent to a router, as the name of an operation and its arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hudkit.errors import OperationError
from hudkit.tools.answer_text import quote
from hudkit.tools.operation import find_operation
from hudkit.tools.spellings import resolve_operation

_SELECTORS = ("operation", "tool", "action", "op", "name", "command", "method", "function")
"""What names the operation, the best first; those behind the first two only where their value is an operation."""

_CONTAINERS = ("args", "arguments", "parameters", "params", "input")
"""What holds the arguments where they do not stand beside the operation's name."""

_ROUTERS = ("hud", "memory")


def parse_call(arguments: object) -> tuple[str, Mapping[str, Any]]:
    """Return the operation's name as it was written, and its arguments, of what a model sent.

    Raises `OperationError`, whose `about` is the operation that was named.

    Understood: `{"operation": NAME, "text": …}`, 001's `{"tool": NAME, "args": {…}}`, both at once where no argument
    has two values, all of it or the arguments as JSON text, one text or a list in place of the arguments, and values
    that a model has written into a schema of its arguments.
    """
    sent = _without_schema(_object(arguments, "the call", ""))
    name, beside = _selected(sent)
    container = next((key for key in _CONTAINERS if key in beside and not _is_own(name, key)), "")
    if not container:
        return name, beside
    inner = _arguments(beside.pop(container), container, name)
    twice = [key for key in inner if key in beside and beside[key] != inner[key]]
    if twice:
        raise _unreadable(f'{quote(twice[0], 40)} stands beside "{container}" and in it', name)
    return name, {**beside, **inner}


def _selected(sent: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name of the operation, and what stands beside it."""
    operation, tool = (_stripped(sent.get(key)) for key in ("operation", "tool"))
    rest = {key: value for key, value in sent.items() if key not in ("operation", "tool")}
    if operation and tool:
        return _of_both(operation, tool, rest)
    if operation or tool:
        return operation or tool, rest
    for key in _SELECTORS[:2]:
        if key in sent:
            raise _unreadable(f'"{key}" must be the name of an operation', "")
    for key in _SELECTORS[2:]:
        value = rest.get(key)
        if isinstance(value, str) and resolve_operation(value, rest) is not None:
            del rest[key]
            return value.strip(), rest
    # {"notes.add": {"text": "..."}}
    if len(rest) == 1:
        ((key, value),) = rest.items()
        if find_operation(key) is not None:
            return key, {"args": value}
    raise _unreadable('"operation" is missing', "")


def _of_both(operation: str, tool: str, rest: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Where both keys stand, one is the operation and the other an argument of it, its group, or the router."""
    if tool in _ROUTERS:
        return operation, rest
    if tool == "help":
        return tool, {**rest, "operation": operation}
    if find_operation(operation) is not None:
        return operation, rest if operation == tool else {**rest, "tool": tool}
    if find_operation(tool) is None and resolve_operation(f"{tool}.{operation}", rest) is not None:
        return f"{tool}.{operation}", rest
    return tool, {**rest, "operation": operation}


def _stripped(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _is_own(name: str, key: str) -> bool:
    operation = find_operation(name)
    return operation is not None and key in operation.arguments.__struct_fields__


def _arguments(value: object, container: str, name: str) -> Mapping[str, Any]:
    if value is None or value in ("", {}):
        return {}
    if isinstance(value, str) and value.lstrip()[:1] not in ("{", "["):
        return {"text": value}
    if isinstance(value, str) and value.lstrip()[:1] == "[":
        value = _loaded(value, f'"{container}"', name)
    if isinstance(value, list | tuple):
        return {"texts": list(value)}
    return _without_schema(_object(value, f'"{container}"', name))


def _without_schema(sent: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values of a call that a small model wrote as the schema of one:
    `{"type": "object", "properties": {"item": {"enum": ["s1"]}}}`."""
    properties = sent.get("properties")
    if not isinstance(properties, Mapping) or sent.get("type", "object") != "object":
        return sent
    beside = {key: value for key, value in sent.items() if key not in _OF_A_SCHEMA}
    values = {key: _value(node) for key, node in {**properties, **beside}.items()}
    return {str(key): value for key, value in values.items() if value is not None}


_OF_A_SCHEMA = ("type", "properties", "required", "additionalProperties")


def _value(node: object) -> object:
    """What a property says; `None` where it only tells what kind of value belongs there."""
    if not isinstance(node, Mapping):
        return node
    choices = node.get("enum")
    if isinstance(choices, list) and len(choices) == 1:
        return choices[0]
    return next((node[key] for key in ("const", "value", "default") if key in node), None)


def _object(value: object, what: str, name: str) -> Mapping[str, Any]:
    if isinstance(value, str):
        value = _loaded(value, what, name)
    if not isinstance(value, Mapping):
        raise _unreadable(f"{what} must be an object", name)
    return {str(key): entry for key, entry in value.items()}


def _loaded(value: str, what: str, name: str) -> object:
    try:
        return json.loads(value, object_pairs_hook=_unique_keys, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        reason = error.args[0] if isinstance(error, _RepeatedKey) else "it is not JSON"
        raise _unreadable(f"{what} cannot be read: {reason}", name) from None


class _RepeatedKey(ValueError):
    """A key stands twice in one object: which one was meant is anybody's guess."""


def _unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    # `json` would silently take the last one.
    if len(table) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for n, key in enumerate(keys) if key in keys[:n])
        raise _RepeatedKey(f"the key {quote(twice, 40)} stands twice")
    return table


def _refused(constant: str) -> Any:
    raise ValueError(constant)


def _unreadable(problem: str, name: str) -> OperationError:
    return OperationError(problem, about=name)
