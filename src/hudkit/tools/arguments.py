"""Arguments from outside to a struct, and what was wrong in words that tell an agent how to call it right."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import msgspec

from hudkit.errors import OperationError
from hudkit.log.codec import printable
from hudkit.tools.lines import echo
from hudkit.tools.operation import MOST_BYTES, Alias, Arguments, Operation
from hudkit.tools.schema import schema, words

_AT = re.compile(r"(?P<what>.*?)(?: - at `\$\.(?P<field>\w+)(?P<deep>.*)`)?", re.DOTALL)
_GOT = re.compile(r"got `([\w| ]+)`")
_MOST = re.compile(r"length <= (\d+)")
_MISSING = re.compile(r"missing required field `(\w+)`")
_SAID = {"str": "text", "int": "a number", "float": "a number with a fraction", "bool": "true or false",
         "array": "a list", "object": "an object", "null": "null"}  # fmt: skip


def convert(operation: Operation | Alias, given: object) -> Arguments:
    """The arguments as the struct of an operation.

    Raises `OperationError`; where an argument has a wrong name, it is `wrong`, and the right one `rename`.
    """
    if not isinstance(given, Mapping):
        raise OperationError(f"the arguments of {operation.name} must be an object", hint=_takes(operation))
    fields = operation.arguments.__struct_fields__
    for name in given:
        if name not in fields:
            raise _unknown(operation, str(name), tuple(field for field in fields if field not in given))
    clean = {name: _clean(value, str(name)) for name, value in given.items()}
    try:
        return msgspec.convert(clean, operation.arguments)
    except msgspec.ValidationError as error:
        raise _wrong(operation, str(error)) from None


def _clean(value: object, field: str) -> object:
    """Text that UTF-8 can carry, and none that is too long."""
    if isinstance(value, str):
        text = printable(value)
        size = len(text) if text.isascii() else len(text.encode())
        if size > MOST_BYTES:
            raise OperationError(
                f'"{field}" has {size:,} bytes, the limit is {MOST_BYTES:,}',
                hint="Nothing was recorded. Shorten it, or record it in parts.",
                size=size,
            )
        return text
    if isinstance(value, list | tuple):
        return [_clean(one, field) if isinstance(one, str) else one for one in value]  # no argument is deeper
    return value


def _unknown(operation: Operation | Alias, name: str, free: tuple[str, ...]) -> OperationError:
    near = get_close_matches(name, free, 1) or (free if len(free) == 1 else ())
    hint = f'Did you mean "{near[0]}"?' if near else _takes(operation)
    mend = {"wrong": name, "rename": near[0]} if near else {}
    return OperationError(f"{operation.name} has no argument {echo(name, 40)}", hint=hint, **mend)


def _wrong(operation: Operation | Alias, said: str) -> OperationError:
    missing = _MISSING.search(said)
    if missing:
        return OperationError(f'{operation.name} needs the argument "{missing[1]}"', hint=_takes(operation))
    match = _AT.fullmatch(said)
    field = (match and match["field"]) or ""
    node = schema(operation)["properties"].get(field)
    if node is None:
        return OperationError(f"the arguments of {operation.name} cannot be read", hint=_takes(operation))
    deep = bool(match and match["deep"])
    place = f'an entry of "{field}"' if deep else f'"{field}"'
    if "regex" in said or "length >= 1" in said:
        hint = "Leave it out." if deep else f"It must be {words(node)}."
        return OperationError(f"{place} is empty", hint=hint)
    most = _MOST.search(said)
    if most:
        return OperationError(f"{place} is too long", hint=f"The limit is {most[1]}.")
    got = _GOT.search(said)
    instead = f", not {_SAID.get(got[1], got[1])}" if got else ""
    return OperationError(f"{place} must be {words(_entry(node) if deep else node)}{instead}")


def _entry(node: dict[str, Any]) -> dict[str, Any]:
    """The schema of an entry of the list that `node` is, or may be."""
    lists: list[dict[str, Any]] = [one for one in node.get("anyOf", [node]) if "items" in one]
    return lists[0]["items"] if lists else node


def _takes(operation: Operation | Alias) -> str:
    fields = msgspec.structs.fields(operation.arguments)
    if not fields:
        return "It takes no arguments."
    return f"It takes: {', '.join(field.name if field.required else f'{field.name} (optional)' for field in fields)}."
