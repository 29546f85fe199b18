"""Recorded conversations of hosts, read-only: the `Transcript` protocol, its readers, and what the model saw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hudkit.transcripts.claude import open_claude
from hudkit.transcripts.codex import open_codex
from hudkit.transcripts.own import OwnTranscript
from hudkit.transcripts.transcript import (
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
from hudkit.transcripts.window import Block, LlmCall, blocks, calls, window

if TYPE_CHECKING:
    from hudkit.transcripts.opencode import OpenCodeTranscript

__all__ = [
    "Block",
    "CompactionPart",
    "FilePart",
    "LlmCall",
    "Message",
    "OpenCodeTranscript",
    "OtherPart",
    "OwnTranscript",
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
    "open_claude",
    "open_codex",
    "window",
]


def __getattr__(name: str) -> Any:  # who reads no database does not pay for SQLite
    if name == "OpenCodeTranscript":
        from hudkit.transcripts.opencode import OpenCodeTranscript

        return OpenCodeTranscript
    raise AttributeError(f"module 'hudkit.transcripts' has no attribute {name!r}")
