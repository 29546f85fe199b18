"""The reference of the tools, generated: `python -m hudkit.tools.reference > docs/tools.md`."""

from __future__ import annotations

from hudkit.tools.help import arguments, groups, others, written
from hudkit.tools.operation import Alias, Operation
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


def reference() -> str:
    """The whole page as markdown."""
    parts = [_HEAD, "## Definitions", "What the model's list says of the routers:"]
    parts += [f"{_FENCE}text\n{one['name']}: {one['description']}\n{_FENCE}" for one in DEFINITIONS]
    for group, members in groups().items():
        parts.append(f"## {group.capitalize()}")
        parts += [_entry(one, "hud") for one in members]
    parts.append("## Other names")
    parts += [_entry(one, "memory") for one in others()]
    return "\n\n".join(parts) + "\n"


def _entry(one: Operation | Alias, router: str) -> str:
    parts = [f"### {one.name}", one.summary + (f" {one.more}" if one.more else "")]
    rows = [f"| `{name}` | {kind} | {said} |" for name, kind, said in arguments(one)]
    if rows:
        parts.append("\n".join(("| argument | value | meaning |", "|---|---|---|", *rows)))
    parts.append(f"{_FENCE}text\n{written(router, one.name, one.example)}\n{_FENCE}")
    return "\n\n".join(parts)


if __name__ == "__main__":
    print(reference(), end="")
