"""A compaction in pydantic-ai: older messages of the run's history become a summary in the host's own form."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from pydantic_ai.direct import model_request
from pydantic_ai.messages import (
    CompactionPart,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextContent,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from hudkit import transcripts
from hudkit.context.compaction.cut_point import cut_text, max_text_characters
from hudkit.context.compaction.summaries import SUMMARY_SYSTEM_PROMPT
from hudkit.hosts.host_session import HostSession
from hudkit.hosts.pydantic_ai.run_messages import METADATA_KEY, LocatedEntry, prompt_texts, system_parts
from hudkit.tokens import Window

WORK_HAS_BEGUN = "The work on this has begun; the summary above says how far it has come."

_NOT_FOR_A_SUMMARY = ("tool_choice", "parallel_tool_calls", "openai_previous_response_id", "openai_conversation_id")
"""Settings of the agent's calls that do not fit a call without its tools and its history."""


class HistoryCompaction(NamedTuple):
    """A compaction to be done: `heard` up to `cut` becomes what a model answers to `prompt`."""

    heard: Sequence[LocatedEntry]
    cut: int
    prompt: str

    def of(self, heard: Sequence[LocatedEntry]) -> HistoryCompaction:
        """The same of another form of these messages, as a run keeps them where others change what is sent."""
        left = self.heard[self.cut :]
        by_end = max(0, len(heard) - len(left))
        cut = next((n for n, one in enumerate(heard) if left and one.entry.key == left[0].entry.key), by_end)
        return self._replace(heard=heard, cut=cut)


def plan_compaction(
    conversation: HostSession, read: Callable[[], Sequence[LocatedEntry]], window: Window, *, asked_only: bool
) -> HistoryCompaction | None:
    """What is to be compacted before the next call; `None`: nothing. `asked_only`: not because the window is full.
    Messages are read where it may be due."""
    if not (conversation.compaction_requested or (not asked_only and conversation.is_compaction_due(window))):
        return None
    heard = read()
    entries = [one.entry for one in heard]
    conversation.ingest(entries)
    if not conversation.is_compaction_due(window):  # now that it is known what the last one freed
        return None
    cut = conversation.tail_start(entries, window)
    if entries and entries[-1].role == "user":
        cut = min(cut, len(entries) - 1)  # what is asked for now is not for a summary
    if cut < 1 or not any(one.message.role == "assistant" and not one.message.summary for one in entries):
        return None
    return HistoryCompaction(heard, cut, conversation.start_compaction("auto"))


async def request_summary(plan: HistoryCompaction, model: Model, settings: ModelSettings | None) -> ModelResponse:
    """What the agent's own model writes: without tools, calls and their results told as text, no attachments. Raises
    what pydantic-ai raises."""
    told = [*_told(plan.heard[: plan.cut]), ModelRequest([UserPromptPart(plan.prompt)])]
    kept = {name: value for name, value in (settings or {}).items() if name not in _NOT_FOR_A_SUMMARY}
    parameters = ModelRequestParameters(instruction_parts=[InstructionPart(content=SUMMARY_SYSTEM_PROMPT)])
    return await model_request(
        model, told, model_settings=cast(ModelSettings, kept) or None, model_request_parameters=parameters
    )


def compact_history(
    messages: Sequence[ModelMessage], plan: HistoryCompaction, summary: ModelRequest, window: Window
) -> list[ModelMessage]:
    """The history from now on: the system prompt with the summary, then what was kept. Where no prompt of the user's
    was kept, the last one is repeated, shortened where it is very long."""
    kept = plan.heard[plan.cut :]
    tail: list[ModelMessage] = []
    if kept:
        first = kept[0].first
        tail = [_from(messages[first.message], first.part), *messages[first.message + 1 :]]
    head = replace(summary, parts=[*system_parts(messages[0]), *summary.parts])
    if any(one.entry.role == "user" for one in kept):
        return [head, *tail]
    most = max_text_characters(window)
    return [replace(head, parts=[*head.parts, *_again(messages, plan.heard, most)]), *tail]


def messages_since_summary(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The messages from our newest summary on: a history to which a run's new messages were added still has what
    the summary stands for."""
    for n in range(len(messages) - 1, 0, -1):
        if any(
            isinstance(part, CompactionPart) and METADATA_KEY in (part.metadata or {}) for part in messages[n].parts
        ):
            return list(messages[n:])
    return list(messages)


# -- inside ----------------------------------------------------------------------------------------------------


def _from(message: ModelMessage, part: int) -> ModelMessage:
    """A message from one of its parts on: results of calls that are gone stand before it."""
    return (
        replace(message, parts=list(message.parts[part:])) if part and isinstance(message, ModelRequest) else message
    )


def _again(messages: Sequence[ModelMessage], heard: Sequence[LocatedEntry], most: int) -> list[UserPromptPart]:
    asked = next((one for one in reversed(heard) if one.entry.role == "user"), None)
    if asked is None:
        return []
    parts = [part for part in messages[asked.first.message].parts if isinstance(part, UserPromptPart)]
    said = "\n\n".join(
        text for part in parts for text, ours in prompt_texts(part) if not ours or text != WORK_HAS_BEGUN
    )
    shortened = cut_text(said, most)
    return [
        UserPromptPart(
            [TextContent(text, metadata={METADATA_KEY: "repeated"}) for text in (shortened, WORK_HAS_BEGUN) if text]
        )
    ]


def _told(heard: Sequence[LocatedEntry]) -> list[ModelMessage]:
    """Entries as plain text, so that every provider takes them without the tools."""
    found: list[ModelMessage] = []
    for one in heard:
        message = one.entry.message
        texts = [part.text for part in message.parts if isinstance(part, transcripts.TextPart)]
        if message.summary:
            texts = ["What came before, as it was summarised then:", *texts]
        if message.role == "user" or message.summary:
            found.append(ModelRequest([UserPromptPart("\n\n".join(texts) or "(an attachment)")]))
            continue
        calls = [part for part in message.parts if isinstance(part, transcripts.ToolPart)]
        said = [*texts, *(f"[called {one.tool} with {json.dumps(one.input, ensure_ascii=False)}]" for one in calls)]
        found.append(ModelResponse([TextPart("\n\n".join(said) or "(nothing)")]))
        results = [f"[{one.tool} answered]\n{one.output}" for one in calls if one.done]
        if results:
            found.append(ModelRequest([UserPromptPart("\n\n".join(results))]))
    return found
