"""Recorded conversations of hosts, read-only: the `Transcript` protocol, its readers, and what the model saw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hudkit.transcripts.claude_code import open_claude
from hudkit.transcripts.codex import open_codex
from hudkit.transcripts.event_log_transcript import OwnTranscript
from hudkit.transcripts.pi import open_pi
from hudkit.transcripts.prompt_window import LlmCall, PromptBlock, llm_calls, prompt_blocks, window_at
from hudkit.transcripts.transcript import (
    CompactionPart,
    FilePart,
    Message,
    OtherPart,
    Part,
    PatchPart,
    ReasoningPart,
    ReportedUsage,
    SessionRow,
    StepPart,
    TextPart,
    Todo,
    ToolPart,
    Transcript,
    UnreadableRecord,
)

if TYPE_CHECKING:
    from hudkit.transcripts.opencode_database import OpenCodeTranscript

__all__ = [
    "CompactionPart",
    "FilePart",
    "LlmCall",
    "Message",
    "OpenCodeTranscript",
    "OtherPart",
    "OwnTranscript",
    "Part",
    "PatchPart",
    "PromptBlock",
    "ReasoningPart",
    "ReportedUsage",
    "SessionRow",
    "StepPart",
    "TextPart",
    "Todo",
    "ToolPart",
    "Transcript",
    "UnreadableRecord",
    "llm_calls",
    "open_claude",
    "open_codex",
    "open_pi",
    "prompt_blocks",
    "window_at",
]


def __getattr__(name: str) -> Any:  # who reads no database does not pay for SQLite
    if name == "OpenCodeTranscript":
        from hudkit.transcripts.opencode_database import OpenCodeTranscript

        return OpenCodeTranscript
    raise AttributeError(f"module 'hudkit.transcripts' has no attribute {name!r}")
