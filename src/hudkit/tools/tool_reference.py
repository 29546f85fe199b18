"""The reference of the tools, generated: `python -m hudkit.tools.tool_reference > docs/tools.md`."""

from __future__ import annotations

from hudkit.tools.help import argument_rows, call_text, operation_groups, unprefixed_aliases
from hudkit.tools.operation import Operation, OperationAlias
from hudkit.tools.routers import DEFINITIONS

_HEAD = """\
# Tools

This page is generated from the definitions in `src/hudkit/tools/`; a test keeps it current.

An agent sees two routers. Both take `{"tool": NAME, "args": {...}}` and understand every operation on this page under
each of its names; they differ in what their help lists first. The answer is short markdown. A refused call is
answered with what was wrong and a correct call, and nothing of it is recorded.

Items are named by their id, by their text, or by a part of their text that no other item has. A text may have 4,096
bytes of UTF-8; a longer one is refused, never cut."""

_FENCE = "```"


def tools_page() -> str:
    """Return the whole page as markdown."""
    parts = [_HEAD, "## Definitions", "What the model's list says of the routers:"]
    parts += [
        f"{_FENCE}text\n{definition['name']}: {definition['description']}\n{_FENCE}" for definition in DEFINITIONS
    ]
    for group, members in operation_groups().items():
        parts.append(f"## {group.capitalize()}")
        parts += [_entry(operation, "hud") for operation in members]
    parts.append("## Other names")
    parts += [_entry(operation, "memory") for operation in unprefixed_aliases()]
    return "\n\n".join(parts) + "\n"


def _entry(operation: Operation | OperationAlias, router: str) -> str:
    parts = [f"### {operation.name}", operation.summary + (f" {operation.more}" if operation.more else "")]
    rows = [f"| `{name}` | {kind} | {meaning} |" for name, kind, meaning in argument_rows(operation)]
    if rows:
        parts.append("\n".join(("| argument | value | meaning |", "|---|---|---|", *rows)))
    parts.append(f"{_FENCE}text\n{call_text(router, operation.name, operation.example)}\n{_FENCE}")
    return "\n\n".join(parts)


if __name__ == "__main__":
    print(tools_page(), end="")
