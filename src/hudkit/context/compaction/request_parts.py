"""What a request carries, in characters: its parts, and the outputs of its tool calls with what stands behind each.

What stands behind an output decides what it costs to let it go: all of that has to be written to the cache anew.
Example: of three messages of 100, 900 and 50 characters the second holds an output of 800; 50 characters and one
block stand behind it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from hudkit.log.payloads import RequestParts, ToolOutputTotal

HANDED_OVER_CHARACTERS = 2_000
"""Characters of one output, at most, that are handed over to be summarised: OpenCode cuts there, and so do we."""

BLOCKS_PER_CALL = 2
"""Content blocks that a call has in a request: the call and its result."""


class CallOutput(NamedTuple):
    """What a finished tool call brought, as the host has it.

    Its id, the tool's name, `size` in characters, and what stands after it in the transcript: `behind` characters,
    about `blocks` content blocks, `prompts` messages of the user (0: it belongs to the current turn).
    """

    call: str
    tool: str
    size: int
    behind: int = 0
    blocks: int = 0
    prompts: int = 0


class MessageOutputs(NamedTuple):
    """A message of a transcript: its `size` in characters, its outputs as (call, tool, size), in order, and whether
    it is a `prompt` of the user."""

    size: int
    outputs: Sequence[tuple[str, str, int]] = ()
    prompt: bool = False


def locate_outputs(
    messages: Sequence[MessageOutputs], *, blocks_per_call: int = BLOCKS_PER_CALL
) -> tuple[CallOutput, ...]:
    """Return the outputs of a transcript's messages, oldest first, with what stands behind each.

    Give `blocks_per_call=1` where each result is a message of its own: the message is counted as the other block.
    """
    located: list[CallOutput] = []
    behind = blocks = prompts = 0
    for message in reversed(messages):
        inner = 0
        for call, tool, size in reversed(message.outputs):
            located.append(CallOutput(call, tool, size, behind + inner, blocks, prompts))
            inner += size
            blocks += blocks_per_call
        behind += max(message.size, inner)
        blocks += 1
        prompts += message.prompt
    return tuple(reversed(located))


def request_parts(
    size: int, outputs: Iterable[tuple[str, int]], system: int | None, tools: int | None
) -> RequestParts:
    """Return the parts of a request in characters.

    `size` is that of its messages in all, each of `outputs` a tool and a size; `system` prompt and definitions of
    `tools` are `None` where they are not known.
    """
    by_tool: Counter[str] = Counter()
    for tool, each in outputs:
        by_tool[tool] += each
    words = max(0, size - sum(by_tool.values()))
    return RequestParts(
        system, tools, words, tuple(ToolOutputTotal(tool, total) for tool, total in sorted(by_tool.items()))
    )


def parts_with_stubs(parts: RequestParts, outputs: Iterable[CallOutput], stubs: Mapping[str, int]) -> RequestParts:
    """Return the parts once the calls in `stubs` have outputs of so many characters."""
    sizes = {part.tool: part.size for part in parts.outputs}
    for output in outputs:
        if output.call in stubs and output.tool in sizes:
            sizes[output.tool] += stubs[output.call] - output.size
    by_tool = tuple(ToolOutputTotal(tool, max(0, size)) for tool, size in sizes.items())
    return msgspec.structs.replace(parts, outputs=by_tool)
