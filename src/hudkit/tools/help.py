"""The operation `help`, and the words for an operation that help and the reference share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hudkit.compose import shorten, visible
from hudkit.errors import OperationError
from hudkit.hud import SessionCore
from hudkit.log.redact import redact
from hudkit.tools.lines import ECHO, Page, echo
from hudkit.tools.operation import (
    ALIASES,
    MOST_BYTES,
    OPERATIONS,
    Alias,
    Answer,
    Arguments,
    Operation,
    Short,
    reading,
    spelled,
)
from hudkit.tools.schema import schema, words

WHOLE = "session"
"""How help calls the group of the operations without a point in their name."""


class About(Arguments, frozen=True):
    operation: Annotated[Short | None, Meta(description="An operation or a group (notes); else all.")] = None
    router: Annotated[Literal["hud", "memory"], Meta(description="Whose spellings come first.")] = "hud"


@reading("help", About, example={"operation": "notes.add"})
def help_(_: SessionCore, args: About) -> Answer:
    """List the operations, or tell one in detail."""
    if args.operation is None:
        return Answer(overview(args.router), {"operations": [*OPERATIONS, *ALIASES]})
    found = spelled(args.operation)
    if found is not None:
        return Answer(detail(found, args.router), {"operation": found.name, "schema": schema(found)})
    group = groups().get(args.operation.removesuffix(".*"))
    if group is None:
        raise unknown(args.operation)
    told = [f"- {signature(one)}: {one.summary}" for one in group]
    return Answer("\n".join(told), {"operations": [one.name for one in group]})


def groups() -> dict[str, list[Operation | Alias]]:
    """Every operation and alias with a point in its name by the part before it; the rest under `session`."""
    table: dict[str, list[Operation | Alias]] = {}
    every: list[Operation | Alias] = [*OPERATIONS.values(), *(it for it in ALIASES.values() if "." in it.name)]
    for one in every:
        group, point, _ = one.name.partition(".")
        table.setdefault(group if point else WHOLE, []).append(one)
    return table


def others() -> list[Alias]:
    """The spellings of 000."""
    return sorted((one for one in ALIASES.values() if "." not in one.name), key=lambda one: one.name)


def overview(router: str) -> str:
    """All operations, a line a group; the router's own spellings first. `?` marks what can be left out."""
    own = []
    for group, members in groups().items():
        told = ", ".join(signature(one).removeprefix(f"{group}.") for one in members)
        own.append(f"- {'(no group)' if group == WHOLE else group}: {told}")
    also = ["- " + ", ".join(signature(one) for one in others())]
    first, then = (also, own) if router == "memory" else (own, also)
    head = (
        f"Operations; in a group, the name is group.operation (notes.add). In detail: "
        f"{written(router, 'help', {'operation': 'notes.add'})}"
    )
    return "\n".join((head, *first, *then))


def signature(one: Operation | Alias) -> str:
    """`notes.add(content)`; paging is left out."""
    untold = (*Page.__struct_fields__, "router")
    fields = [field for field in msgspec.structs.fields(one.arguments) if field.name not in untold]
    inner = ", ".join(field.name if field.required else f"{field.name}?" for field in fields)
    return f"{one.name}({inner})" if inner else one.name


def detail(one: Operation | Alias, router: str) -> str:
    """One operation: what it does, its arguments, an example."""
    told = [f"{one.name}: {one.summary}" + (f" {one.more}" if one.more else "")]
    told += [f"- {name} ({kind}): {said}" for name, kind, said in arguments(one)]
    told.append(f"\nExample: {written(router, one.name, one.example)}")
    return "\n".join(told)


def arguments(one: Operation | Alias) -> list[tuple[str, str, str]]:
    """Name, kind and description of each argument."""
    found = schema(one)
    table = []
    for name, node in found.get("properties", {}).items():
        need = "required" if name in found.get("required", ()) else _default(node)
        most = f", at most {MOST_BYTES:,} bytes" if node.get("maxLength") == MOST_BYTES else ""
        table.append((name, f"{words(node)}{most}, {need}", node.get("description", "")))
    return table


def _default(node: Mapping[str, Any]) -> str:
    value = node.get("default")
    return "optional" if value in (None, "", []) else f"default {json.dumps(value)}"


def written(router: str, name: str, args: Mapping[str, Any]) -> str:
    """A call as an agent writes it; long texts are shortened, secrets left out."""
    call: dict[str, Any] = {"tool": name}
    if args:
        call["args"] = {key: _short(value) for key, value in args.items()}
    text = json.dumps(call, ensure_ascii=False)
    return f"{router}({visible(redact(text.encode('utf-8', 'backslashreplace')).decode())})"


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return shorten(value, ECHO)
    return [_short(one) for one in value[:5]] if isinstance(value, list | tuple) else value


def unknown(name: str) -> OperationError:
    """There is no such operation; these are near."""
    group = groups().get(name.partition(".")[0]) if "." in name else None
    if group:
        names = [one.name for one in group]
        near = get_close_matches(name, names, 3) or names[:1]
        hint = f"{name.partition('.')[0]} has: {', '.join(names)}."
    else:
        near = get_close_matches(name, (*OPERATIONS, *ALIASES), 3)
        hint = f"Did you mean {', '.join(near)}?" if near else ""
    return OperationError(f"there is no operation {echo(name, 60)}", hint=hint, near=near)
