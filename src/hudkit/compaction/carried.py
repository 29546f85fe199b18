"""What the transcript of a call carries: the outputs of its tool calls, in order."""

from __future__ import annotations

from typing import NamedTuple


class Output(NamedTuple):
    """What a finished tool call brought, as the host has it: its id, the tool's name, `size` in characters, and
    what stands after it in the transcript: `behind` characters, about `blocks` content blocks."""

    call: str
    tool: str
    size: int
    behind: int = 0
    blocks: int = 0
