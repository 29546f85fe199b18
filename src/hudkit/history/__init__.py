"""Recorded conversations of hosts, read-only: the `Transcript` protocol, its readers, and what the model saw."""

from hudkit.history.opencode import OpenCodeTranscript
from hudkit.history.transcript import (
    CompactionPart,
    FilePart,
    Message,
    OtherPart,
    Part,
    PatchPart,
    ReasoningPart,
    Reported,
    SessionRow,
    Skipped,
    StepPart,
    TextPart,
    Todo,
    ToolPart,
    Transcript,
)
from hudkit.history.window import Block, LlmCall, blocks, calls, window

__all__ = [
    "Block",
    "CompactionPart",
    "FilePart",
    "LlmCall",
    "Message",
    "OpenCodeTranscript",
    "OtherPart",
    "Part",
    "PatchPart",
    "ReasoningPart",
    "Reported",
    "SessionRow",
    "Skipped",
    "StepPart",
    "TextPart",
    "Todo",
    "ToolPart",
    "Transcript",
    "blocks",
    "calls",
    "window",
]
