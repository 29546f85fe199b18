"""What the model saw: the messages that were in the window at each call, after compactions, and their text.

A transcript keeps every message; a compaction only changes which of them are sent. Rules seen in OpenCode 1.18 (a
compaction that finished without an error counts, the newest one decides): first the marker, sent as a user's
question, then the summary, then the kept tail (from `tail_start_id`, which can lie inside a turn) up to the marker,
then whatever came after the marker.

    transcript: u1 a1 u2 a2 [marker, tail from a2] [summary] u3 a3
    sent for a3:            marker summary a2 u3
    sent for the summary:   u1 a1 u2 marker           (what it summarises, without the tail, then the question)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from hudkit.errors import TranscriptError
from hudkit.transcripts.transcript import CompactionPart, Message, ReasoningPart, TextPart, ToolPart

MARKER_TEXT = "What did we do so far?"
"""What OpenCode sends in place of a compaction marker."""

CLEARED_TEXT = "[Old tool result content cleared]"
"""What OpenCode sends in place of a pruned tool output."""

INTERRUPTED_TEXT = "[Tool execution was interrupted]"
"""What OpenCode sends as the result of a call that never ended."""


class LlmCall(msgspec.Struct, frozen=True):
    """One model call: its response, what was sent, and what is new since the call before it.

    `fresh` begins with the response of the call before (its tool results came in between) and holds every message
    up to this call, each exactly once over all calls; a session's last response is in nobody's `fresh`.
    """

    message: Message
    window: tuple[Message, ...]
    fresh: tuple[Message, ...]


class PromptBlock(msgspec.Struct, frozen=True):
    """A piece of a request's text, by the part of the window that it counts to; `tool` where a tool made it."""

    kind: Literal["user", "assistant", "reasoning", "tool_call", "tool_output"]
    text: str
    tool: str = ""


def compaction_marker(message: Message) -> CompactionPart | None:
    """Return the compaction part that makes a user message a marker, `None` for any other message."""
    if message.role != "user":
        return None
    return next((part for part in message.parts if isinstance(part, CompactionPart)), None)


def is_summary(message: Message) -> bool:
    """Return whether this is a finished summary: from here on the model no longer sees what it covers."""
    return message.role == "assistant" and message.summary and bool(message.finish) and not message.error


def window_at(messages: Sequence[Message], upto: str) -> tuple[Message, ...]:
    """Return what the call with the response `upto` (a message id) was sent, in the order of the request.

    For the call that writes a summary that is what it summarises, then the marker. Raises `TranscriptError` for an id
    that is not in `messages`.
    """
    for index, message in enumerate(messages):
        if message.id == upto:
            return _window_before(messages, index)
    raise TranscriptError(f"no message {upto!r} in this transcript", hint="Take an id from its messages.")


def llm_calls(messages: Sequence[Message]) -> Iterator[LlmCall]:
    """Return every model call in order, with its window and what came since the call before."""
    since = 0
    for index, message in enumerate(messages):
        if message.role == "assistant":
            yield LlmCall(message, _window_before(messages, index), tuple(messages[since:index]))
            since = index


def prompt_blocks(message: Message) -> tuple[PromptBlock, ...]:
    """Return what a message contributes to a request; nothing for a response that an error ended."""
    if message.role == "user":
        return tuple(_user_blocks(message))
    # A response that failed is not sent again; one that the user stopped is, as far as it came.
    if message.error and not message.aborted:
        return ()
    return tuple(_response_blocks(message))


def _window_before(messages: Sequence[Message], index: int) -> tuple[Message, ...]:
    if not messages[index].summary:
        return _visible(messages[:index])
    marker_index = _index_before(messages, index, messages[index].parent_id)
    marker = compaction_marker(messages[marker_index]) if marker_index is not None else None
    if marker_index is None or marker is None:
        return _visible(messages[:index])
    before = _visible(messages[:marker_index])
    tail = next((i for i, message in enumerate(before) if message.id == marker.tail_start_id), len(before))
    return (*before[:tail], messages[marker_index])


def _visible(past: Sequence[Message]) -> tuple[Message, ...]:
    # From the end: the newest summary decides, and what it covers holds any older one.
    for summary_index in range(len(past) - 1, -1, -1):
        if not is_summary(past[summary_index]):
            continue
        marker_index = _index_before(past, summary_index, past[summary_index].parent_id)
        marker = compaction_marker(past[marker_index]) if marker_index is not None else None
        if marker_index is None or marker is None:
            continue
        tail_index = _index_before(past, marker_index, marker.tail_start_id)
        tail = marker_index if tail_index is None else tail_index
        rest = (past[i] for i in range(marker_index + 1, len(past)) if i != summary_index)
        return (past[marker_index], past[summary_index], *past[tail:marker_index], *rest)
    return tuple(past)


def _index_before(messages: Sequence[Message], end: int, id: str) -> int | None:
    """Where the message `id` is before the position `end`; near the end, as a rule."""
    return next((i for i in range(end - 1, -1, -1) if messages[i].id == id), None) if id else None


def _user_blocks(message: Message) -> Iterator[PromptBlock]:
    for part in message.parts:
        if isinstance(part, TextPart) and not part.ignored:
            yield PromptBlock("user", part.text)
        elif isinstance(part, CompactionPart):
            yield PromptBlock("user", MARKER_TEXT)


def _response_blocks(message: Message) -> Iterator[PromptBlock]:
    for part in message.parts:
        if isinstance(part, TextPart):
            yield PromptBlock("assistant", part.text)
        elif isinstance(part, ReasoningPart):
            yield PromptBlock("reasoning", part.text)
        elif isinstance(part, ToolPart):
            # A call and its result are two blocks: they are cached and pruned apart.
            yield PromptBlock("tool_call", msgspec.json.encode(part.input).decode(), part.tool)
            yield PromptBlock("tool_output", _result(part), part.tool)


def _result(part: ToolPart) -> str:
    if part.status == "error":
        return part.error
    if part.status != "completed":
        return INTERRUPTED_TEXT
    return CLEARED_TEXT if part.compacted else part.output
