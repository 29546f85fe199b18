"""What the transcript of a call carries: the outputs of its tool calls, in order."""

from __future__ import annotations

from typing import NamedTuple


class Output(NamedTuple):
    """What a finished tool call brought, as the host has it: its id, the tool's name, `size` in characters, and
    `behind`: how many characters of the transcript stand after it."""

    call: str
    tool: str
    size: int
    behind: int = 0
