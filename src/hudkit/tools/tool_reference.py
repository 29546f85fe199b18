"""The reference of the tools, generated: `python -m hudkit.tools.tool_reference > docs/tools.md`."""

from __future__ import annotations

from hudkit.tools.definitions import DEFINITIONS
from hudkit.tools.help import argument_rows, call_text, operation_groups, unprefixed_aliases
from hudkit.tools.operation import Operation, OperationAlias

_HEAD = """\
# Tools

This page is generated from the definitions in `src/hudkit/tools/`; a test keeps it current.

An agent sees two routers. Both take `{"operation": NAME, ...}` with the arguments beside the name, and understand
every operation on this page under each of its names; they differ in what their definition and help list first. The
answer is short markdown. A refused call is answered with what was wrong, and with a call that is right and harmless:
the agent's own with one thing put right, with "…" where words are missing (which is refused), or one that reads.

Items are named by their id, by their text, or by words that no other item has as many of. A text may have 4,096 bytes
of UTF-8; a longer one is refused, never cut. Where an argument takes a list, all of it is recorded or nothing.

## What is understood
"""

_UNDERSTOOD = """\
`{"operation": NAME, "text": T}`:: `{"tool": NAME, "args": {"text": T}}`; arguments in `arguments`, `parameters`,
`params` or `input`; all or a part of it as JSON text

`notes.add`:: `note.add`, `add_note`, `notes.create`, `note` with a text; for each group singular and plural, either
order, and verbs of the same meaning (add, record, set; remove, delete, withdraw; complete, done, finish; list, get)

`text`:: the one text under any name (`content`, `description`, `summary`, `message`, `note`, `decision`, `rule`, …);
`path` of files, `query` of a search

`texts`:: a list under `text`, or under the name of the group

`item`:: `id`, `name`, `step_id`, the noun of the group, the text where the operation takes none; of a changed
text, the item most like it; ids in a sentence ("s1 and s2 are done"); an id of another group (`blockers.remove`
of `c1`)

a new text:: it takes the place of the decision or note that it corrects, where its words leave no doubt
("Correction: …", "… changed to …"; a decision also with another quantity), and the answer says so; what stands
already, but for the last dot, is not added again; "s1 is done" is no text

`details`:: `reason`, `why`, `rationale`; where an operation has no such argument, it is put behind the text, and a
reason alone is the text

nothing beside the text of something new:: `must`, `important`, `permanent` … that are true, `type` with the name of a
type"""
"""What the tools take, and what they take for it: a paragraph is a row of the page's table."""

_REFUSED = """\
What could mean two things is refused: a verb without a group, two texts, an item for something new, keys that nobody
knows (`origin`, `trust`). In the agent loop of hudkit an operation may also be called as if it were a tool. Where a
host sends strict schemas (OpenAI's models asked for an answer in a schema, in LangChain), only the arguments of the
definition and `args` as JSON text reach us."""

_FENCE = "```"


def tools_page() -> str:
    """Return the whole page as markdown."""
    rows = (" ".join(paragraph.split()).split(":: ", 1) for paragraph in _UNDERSTOOD.split("\n\n"))
    understood = "\n".join(f"| {taken} | {also} |" for taken, also in rows)
    parts = [f"{_HEAD}\n| instead of | also |\n|---|---|\n{understood}", _REFUSED]
    parts += ["## Definitions", "What the model's list says of the routers:"]
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
