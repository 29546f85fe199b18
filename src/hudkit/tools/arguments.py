"""Arguments from outside to a struct, and what was wrong in words that tell an agent how to call it right."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

import msgspec

from hudkit.errors import OperationError
from hudkit.log.codec import escape_surrogates
from hudkit.tools.answer_text import quote
from hudkit.tools.operation import MAX_TEXT_BYTES, Operation, OperationAlias, OperationArguments
from hudkit.tools.spellings import shown_name

# --- Parameter schemas from the argument structs: JSON Schema (draft 2020-12), without references.


_KINDS = {"string": "text", "integer": "a number", "boolean": "true or false", "null": "null", "object": "an object"}


def operation_schema(operation: Operation | OperationAlias) -> dict[str, Any]:
    """Return the schema of an operation's arguments, a new value each time."""
    return struct_schema(operation.arguments)


def struct_schema(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the schema of a struct of arguments, a new value each time."""
    inlined: dict[str, Any] = _inlined(*_components(arguments))
    return inlined


@cache
def _components(arguments: type[msgspec.Struct]) -> tuple[dict[str, Any], dict[str, Any]]:
    (root,), parts = msgspec.json.schema_components((arguments,), ref_template="#/$defs/{name}")
    return root, parts


def _inlined(node: Any, parts: dict[str, Any]) -> Any:
    if isinstance(node, list | tuple):
        return [_inlined(child, parts) for child in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return _inlined({**parts[node["$ref"].rpartition("/")[2]], **beside}, parts)
    return {
        key: {name: _inlined(child, parts) for name, child in value.items()}
        if key == "properties"
        else _inlined(value, parts)
        for key, value in node.items()
        if key != "title"  # a struct's name says nothing to a caller
    }


def value_words(node: dict[str, Any]) -> str:
    """Return what a value must be, in words: `a number from 1 to 200`. The limit of texts is left out."""
    if "anyOf" in node:
        return " or ".join(dict.fromkeys(value_words(choice) for choice in node["anyOf"]))
    if "enum" in node:
        return " or ".join(f'"{value}"' for value in node["enum"])
    kind = node.get("type", "")
    if kind == "array":
        count = f" (at most {node['maxItems']})" if "maxItems" in node else ""
        return f"a list of {value_words(node.get('items', {})).replace(' or ', ', ')}{count}"
    if kind == "integer":
        least, most = node.get("minimum"), node.get("maximum")
        if least is not None and most is not None:
            return f"a number from {least} to {most}"
        return f"a number, at least {least}" if least is not None else "a number"
    return _KINDS.get(kind, "anything")


_AT = re.compile(r"(?P<what>.*?)(?: - at `\$\.(?P<field>\w+)(?P<deep>.*)`)?", re.DOTALL)
_GOT = re.compile(r"got `([\w| ]+)`")
_MOST = re.compile(r"length <= (\d+)")
_MISSING = re.compile(r"missing required field `(\w+)`")
_SAID = {"str": "text", "int": "a number", "float": "a number with a fraction", "bool": "true or false",
         "array": "a list", "object": "an object", "null": "null"}  # fmt: skip


PLACEHOLDER = "…"
"""What a refusal shows where the agent's own words belong; it is never recorded."""


def convert_arguments(operation: Operation | OperationAlias, raw: object) -> OperationArguments:
    """Return the arguments as the struct of an operation.

    Raises `OperationError`; where an argument has a wrong name, it is `wrong`, and the right one `rename`.
    """
    if not isinstance(raw, Mapping):
        raise OperationError(f"the arguments of {operation.name} must be an object", hint=_takes(operation))
    fields = operation.arguments.__struct_fields__
    for name in raw:
        if name not in fields:
            raise _unknown(operation, str(name), tuple(field for field in fields if field not in raw))
    # Before the conversion: its messages would repeat a text of any length.
    clean = {name: _clean(value, shown_name(operation, name)) for name, value in raw.items()}
    for name, value in clean.items():
        if isinstance(value, str) and not _SAYS_SOMETHING.search(value) and name in _needs_words(operation.arguments):
            raise _wrong(operation, f"regex - at `$.{name}`")
    try:
        return msgspec.convert(clean, operation.arguments)
    except msgspec.ValidationError as error:
        raise _wrong(operation, str(error)) from None


_SAYS_SOMETHING = re.compile(r"\S")


@cache
def _needs_words(arguments: type[msgspec.Struct]) -> frozenset[str]:
    """The fields that take a text which says something, or a list."""
    fields = struct_schema(arguments).get("properties", {}).items()
    return frozenset(name for name, node in fields if any("pattern" in each for each in node.get("anyOf", ())))


def _clean(value: object, field: str) -> object:
    """Text that UTF-8 can carry, and none that is too long."""
    if isinstance(value, str):
        text = escape_surrogates(value)
        if text.strip() in (PLACEHOLDER, "..."):
            raise OperationError(f'"{field}" is only a placeholder', hint="Write what is meant in its place.")
        size = len(text) if text.isascii() else len(text.encode())
        if size > MAX_TEXT_BYTES:
            raise OperationError(
                f'"{field}" has {size:,} bytes, the limit is {MAX_TEXT_BYTES:,}',
                hint="Nothing was recorded. Shorten it, or record it in parts.",
                size=size,
            )
        return text
    if isinstance(value, list | tuple):
        return [_clean(entry, field) if isinstance(entry, str) else entry for entry in value]  # no argument is deeper
    return value


def _unknown(operation: Operation | OperationAlias, name: str, free: tuple[str, ...]) -> OperationError:
    by_shown_name = {shown_name(operation, field): field for field in free} | {field: field for field in free}
    near = get_close_matches(name, by_shown_name, 1) or (list(by_shown_name)[:1] if len(free) == 1 else [])
    right = by_shown_name[near[0]] if near else ""
    hint = f'Did you mean "{shown_name(operation, right)}"?' if near else _takes(operation)
    mend = {"wrong": name, "rename": right} if near else {}
    return OperationError(f"{operation.name} has no argument {quote(name, 40)}", hint=hint, **mend)


def _wrong(operation: Operation | OperationAlias, reason: str) -> OperationError:
    missing = _MISSING.search(reason)
    if missing:
        shown = shown_name(operation, missing[1])
        return OperationError(
            f'{operation.name} needs the argument "{shown}"', hint=_takes(operation), missing=missing[1]
        )
    match = _AT.fullmatch(reason)
    field = (match and match["field"]) or ""
    node = operation_schema(operation)["properties"].get(field)
    if node is None:
        return OperationError(f"the arguments of {operation.name} cannot be read", hint=_takes(operation))
    deep = bool(match and match["deep"])
    name = shown_name(operation, field)
    place = f'an entry of "{name}"' if deep else f'"{name}"'
    # msgspec's messages are for programmers; these few kinds are what an agent does wrong.
    if "regex" in reason or "length >= 1" in reason:
        hint = "Leave it out." if deep else f"It must be {value_words(node)}."
        return OperationError(f"{place} is empty", hint=hint)
    most = _MOST.search(reason)
    if most:
        return OperationError(f"{place} is too long", hint=f"The limit is {most[1]}.")
    got = _GOT.search(reason)
    instead = f", not {_SAID.get(got[1], got[1])}" if got else ""
    return OperationError(f"{place} must be {value_words(_entry(node) if deep else node)}{instead}")


def _entry(node: dict[str, Any]) -> dict[str, Any]:
    """The schema of an entry of the list that `node` is, or may be."""
    lists: list[dict[str, Any]] = [choice for choice in node.get("anyOf", [node]) if "items" in choice]
    return lists[0]["items"] if lists else node


def _takes(operation: Operation | OperationAlias) -> str:
    fields = msgspec.structs.fields(operation.arguments)
    if not fields:
        return "It takes no arguments."
    shown = [(shown_name(operation, field.name), field.required) for field in fields]
    return f"It takes: {', '.join(name if required else f'{name} (optional)' for name, required in shown)}."
