"""What a call carries: the outputs of its tool calls, in order, and its parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from hudkit.log.payloads import RequestParts, ToolOutputTotal


class CallOutput(NamedTuple):
    """What a finished tool call brought, as the host has it: its id, the tool's name, `size` in characters, and
    what stands after it in the transcript: `behind` characters, about `blocks` content blocks."""

    call: str
    tool: str
    size: int
    behind: int = 0
    blocks: int = 0


def request_parts(
    size: int, outputs: Iterable[tuple[str, int]], system: int | None, tools: int | None
) -> RequestParts:
    """The parts of a request in characters: `size` of its messages in all, each output as its tool and its size, the
    system prompt and the definitions of tools (`None`: not known)."""
    brought: Counter[str] = Counter()
    for tool, each in outputs:
        brought[tool] += each
    words = max(0, size - sum(brought.values()))
    return RequestParts(system, tools, words, tuple(ToolOutputTotal(*one) for one in sorted(brought.items())))
