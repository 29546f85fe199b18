"""The messages of a pydantic-ai run as they are ingested: what each says, and where in the request it stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from hudkit import transcripts
from hudkit.context.compaction.cut_point import cut_text, max_text_characters
from hudkit.hosts.host_session import HostMessage
from hudkit.ingest.first_seen import entry_key
from hudkit.ingest.tool_calls import neutral_part
from hudkit.tokens import Window

# --- Which parts of a run's messages belong together: a response and the results of its calls; what else is said.


METADATA_KEY = "hudkit"
"""The key of what we note in metadata of the host's messages."""


class PartIndex(NamedTuple):
    """A part of a message, by their places."""

    message: int
    part: int


class _MessageGroup:
    """What belongs to one entry: a response with the results of its calls, or what a request says beside results."""

    def __init__(self, message: ModelMessage, first: PartIndex) -> None:
        self.message = message
        self.first = first
        self.last: PartIndex | None = None
        self.response = message if isinstance(message, ModelResponse) else None
        self.results: dict[str, Any] = {}
        self.parts: list[Any] = []

    @property
    def things(self) -> tuple[object, ...]:
        return (self.message, *self.results.values()) if self.response is not None else tuple(self.parts)

    @property
    def at(self) -> datetime | None:
        """When a run of the host made it; `None` where that is not known."""
        message = self.message
        if self.summary is not None:
            return _noted(self.summary)
        if self.response is not None:
            return message.timestamp if message.run_id else None
        # Two requests that the host joins lose their runs; one that was made anew beside it has neither.
        return getattr(self.parts[0], "timestamp", None) if message.run_id or message.timestamp else None

    @property
    def summary(self) -> CompactionPart | None:
        return next((part for part in self.parts if isinstance(part, CompactionPart)), None)

    @property
    def calls(self) -> list[str]:
        return [part.tool_call_id for part in self.message.parts if isinstance(part, ToolCallPart)][:1]


def _noted(summary: CompactionPart) -> datetime | None:
    """Return when a summary of ours was written."""
    noted = (summary.metadata or {}).get(METADATA_KEY)
    try:
        return datetime.fromisoformat(noted["at"]) if isinstance(noted, dict) else None
    except (KeyError, TypeError, ValueError):
        return None


def _group_messages(messages: Sequence[ModelMessage]) -> list[_MessageGroup]:
    groups: list[_MessageGroup] = []
    answered: dict[str, _MessageGroup] = {}
    for n, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            compacted = [index for index, part in enumerate(message.parts) if isinstance(part, CompactionPart)]
            if compacted:
                groups, answered = [_summary(message, PartIndex(n, compacted[-1]))], {}
                if len(message.parts) == compacted[-1] + 1:
                    continue
            draft = _MessageGroup(message, PartIndex(n, 0))
            answered |= {part.tool_call_id: draft for part in message.parts if isinstance(part, ToolCallPart)}
            groups.append(draft)
            continue
        asked: _MessageGroup | None = None
        parts: Sequence[Any] = message.parts
        for index, part in enumerate(parts):
            if isinstance(part, CompactionPart):
                groups.append(_summary(message, PartIndex(n, index)))
            elif _is_result(part):
                if (owner := answered.get(part.tool_call_id)) is not None:
                    owner.results[part.tool_call_id] = part
                    owner.last = PartIndex(n, index)
            elif isinstance(part, UserPromptPart | RetryFeedbackPart) or part.part_kind == "retry-prompt":
                if asked is None:
                    asked = _MessageGroup(message, PartIndex(n, index))
                    groups.append(asked)
                asked.parts.append(part)
                asked.last = PartIndex(n, index)
    return groups


def _summary(message: ModelMessage, place: PartIndex) -> _MessageGroup:
    draft = _MessageGroup(message, place)
    draft.parts = [message.parts[place.part]]
    if draft.response is None:
        draft.last = place
    draft.response = None
    return draft


def _is_result(part: Any) -> bool:
    """Return whether a part answers a call; a `RetryPromptPart` of older code does where it names a tool."""
    return isinstance(part, ToolReturnPart) or (part.part_kind == "retry-prompt" and part.tool_name is not None)


_NOTED = "__pydantic_ai__"
"""The key of what pydantic-ai notes there: where one response is several requests, the prompt of the last one."""

_FAILED = ("failed", "retried")
_UNDONE = ("denied", "interrupted")
"""Outcomes of calls that did not run, or not to their end: they say nothing of files and commands."""


class LocatedEntry(NamedTuple):
    """An entry, where its first part stands, and the part that blocks follow (`None`: nothing of it is ours to
    extend, as a response without tool results)."""

    entry: HostMessage
    first: PartIndex
    last: PartIndex | None


class RunReader:
    """Reads the messages of one run, again and again as they grow. `dated`: the times in the messages are those of
    the run that made them, and stay; they do not where a client sends the conversation anew each time."""

    def __init__(self, *, dated: bool, names: Mapping[str, str] = {}) -> None:
        self._dated = dated
        self._names = names
        self._made: dict[tuple[int, ...], tuple[tuple[object, ...], HostMessage]] = {}

    def read(self, messages: Sequence[ModelMessage]) -> list[LocatedEntry]:
        """Return the entries, oldest first. What a provider's own compaction has replaced is left out."""
        entries: list[LocatedEntry] = []
        seen: Counter[str] = Counter()
        taken: set[tuple[str, int]] = set()
        for draft in _group_messages(messages):
            entry = self._entry(draft)
            seen[entry.key] += 1
            if seen[entry.key] > 1:
                entry = entry._replace(key=entry_key(entry.key, str(seen[entry.key])))
            role, created = entry.message.role, entry.message.created
            # Time and role are what a message is known by in the log: two of one moment would be one.
            while created and (role, created) in taken:
                created += 1
                entry = entry._replace(message=msgspec.structs.replace(entry.message, created=created))
            taken.add((role, created))
            entries.append(LocatedEntry(entry, draft.first, draft.last))
        return entries

    def _entry(self, draft: _MessageGroup) -> HostMessage:
        """Return the entry of a draft; the same objects make the same entry, which is kept."""
        things = draft.things
        name = tuple(map(id, things))
        if name not in self._made:
            undated = _said(draft, self._names) if draft.response is not None else _asked(draft)
            made_at = draft.at if self._dated else None
            created = int(made_at.timestamp() * 1000) if made_at else 0
            key = entry_key(undated.role, made_at.isoformat(), *draft.calls) if made_at else undated.key
            message = msgspec.structs.replace(undated.message, id=key, created=created, completed=created)
            self._made[name] = things, undated._replace(key=key, message=message)
        return self._made[name][1]


def system_size(messages: Sequence[ModelMessage]) -> int:
    """Return the characters of the system prompt that stands in the first request."""
    first = messages[0] if messages else None
    return sum(len(part.content) for part in _system_parts(first))


def _system_parts(message: ModelMessage | None) -> list[SystemPromptPart]:
    """Return the system prompt that opens a conversation."""
    if not isinstance(message, ModelRequest):
        return []
    return [part for part in message.parts if isinstance(part, SystemPromptPart) and part.scope == "conversation"]


def _prompt_texts(part: UserPromptPart) -> Iterator[tuple[str, bool]]:
    """Yield the texts of a prompt, and whether they are ours."""
    for item in [part.content] if isinstance(part.content, str) else part.content:
        if isinstance(item, str):
            yield item, False
        elif isinstance(item, TextContent):
            yield item.content, isinstance(item.metadata, dict) and METADATA_KEY in item.metadata


# -- inside ----------------------------------------------------------------------------------------------------


def _said(draft: _MessageGroup, names: Mapping[str, str]) -> HostMessage:
    """Return a response with what its calls brought."""
    response = draft.response
    assert response is not None
    parts: list[transcripts.Part] = []
    words: list[str] = []
    size = 0
    for n, part in enumerate(response.parts):
        match part:
            case TextPart():
                parts.append(transcripts.TextPart(f"text {n}", part.content))
                words.append(part.content)
                size += len(part.content)
            case ThinkingPart():
                parts.append(transcripts.ReasoningPart(f"thought {n}", part.content))
                size += len(part.content)
            case ToolCallPart():
                call = _call(part, draft.results.get(part.tool_call_id), names)
                parts.append(call)
                words.append(part.tool_call_id)
                size += len(part.tool_name) + len(part.args_as_json_str()) + len(call.output)
    broken = "the response was interrupted" if response.state == "interrupted" else ""
    finish = {None: "stop", "tool_call": "tool-calls"}.get(response.finish_reason, response.finish_reason) or "stop"
    if response.state in ("suspended", "incomplete"):
        finish = ""
    elif draft.calls and finish == "stop":
        finish = "tool-calls"
    message = transcripts.Message(
        "",
        response.conversation_id or "",
        "assistant",
        model=response.model_name or "",
        provider=response.provider_name or "",
        finish=finish,
        error=broken,
        aborted=bool(broken),
        usage=token_usage(response),
        parts=tuple(parts),
    )
    return HostMessage(entry_key("assistant", *words), message, "tool" if draft.results else "assistant", size)


def _call(part: ToolCallPart, result: Any, names: Mapping[str, str]) -> transcripts.ToolPart:
    arguments = part.args_as_dict()
    call = transcripts.ToolPart(part.tool_call_id, part.tool_name, part.tool_call_id, "running", arguments)
    if result is None:
        return call
    end = int(result.timestamp.timestamp() * 1000)
    output = _output_text(result)
    outcome = getattr(result, "outcome", "retried")
    if outcome in _FAILED:
        failed = msgspec.structs.replace(call, status="error", output=output, error=output, end=end)
        return neutral_part(failed, names)
    done = msgspec.structs.replace(call, status="completed", output=output, end=end)
    return msgspec.structs.replace(done, input={}) if outcome in _UNDONE else neutral_part(done, names)


def _output_text(result: Any) -> str:
    """Return what a result says to the model, as text."""
    if isinstance(result, ToolReturnPart):
        return result.model_response_str(wrap_if_error=False)
    return str(result.model_response())


def token_usage(response: ModelResponse) -> transcripts.ReportedUsage | None:
    """Return the tokens of a response; `None` where nobody told. The host counts cached ones among the input."""
    usage = response.usage
    if not usage.input_tokens and not usage.output_tokens:
        return None
    noted = ((response.metadata or {}).get(_NOTED) or {}).get("context_input_tokens")
    # A response that came in several requests sums them up; in the window is the prompt of the last one.
    prompt = noted if isinstance(noted, int) else usage.input_tokens
    return transcripts.ReportedUsage(
        total=prompt + usage.output_tokens,
        input=max(0, usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens),
        output=usage.output_tokens,
        cache_read=usage.cache_read_tokens,
        cache_write=usage.cache_write_tokens,
    )


def _asked(draft: _MessageGroup) -> HostMessage:
    """Return what a request says beside results: a summary of what came before, or a user's message."""
    id = draft.message.conversation_id or ""
    if (summary := draft.summary) is not None:
        text = summary.content or ""
        summarised = transcripts.Message(
            "", id, "assistant", finish="stop", summary=True, parts=(transcripts.TextPart("summary", text),)
        )
        return HostMessage(entry_key("summary", text), summarised, "assistant", len(text))
    parts: list[transcripts.Part] = []
    words: list[str] = []
    for n, part in enumerate(draft.parts):
        if isinstance(part, UserPromptPart):
            texts = list(_prompt_texts(part))
        else:
            texts = [(str(part.model_response()), True)]
        parts += [transcripts.TextPart(f"text {n}.{m}", text, synthetic) for m, (text, synthetic) in enumerate(texts)]
        words += [text for text, _ in texts]
    message = transcripts.Message("", id, "user", parts=tuple(parts))
    return HostMessage(entry_key("user", *words), message, "user", sum(map(len, words)))


# --- A compaction: older messages of the run's history become a summary in the host's own form.


WORK_HAS_BEGUN = "The work on this has begun; the summary above says how far it has come."


class HistoryCompaction(NamedTuple):
    """A compaction to be done: `located` up to `cut` becomes what a model answers to `prompt`."""

    located: Sequence[LocatedEntry]
    cut: int
    prompt: str

    def of(self, located: Sequence[LocatedEntry]) -> HistoryCompaction:
        """Return the same of another form of these messages, as a run keeps them where others change what is sent."""
        left = self.located[self.cut :]
        by_end = max(0, len(located) - len(left))
        cut = next((n for n, item in enumerate(located) if left and item.entry.key == left[0].entry.key), by_end)
        return self._replace(located=located, cut=cut)


def compact_history(
    messages: Sequence[ModelMessage], plan: HistoryCompaction, summary: ModelRequest, window: Window
) -> list[ModelMessage]:
    """Return the history from now on: the system prompt with the summary, then what was kept.

    Where no prompt of the user's was kept, the last one is repeated, shortened where it is very long.
    """
    remaining = plan.located[plan.cut :]
    tail: list[ModelMessage] = []
    if remaining:
        first = remaining[0].first
        tail = [_from(messages[first.message], first.part), *messages[first.message + 1 :]]
    head = replace(summary, parts=[*_system_parts(messages[0]), *summary.parts])
    if any(item.entry.role == "user" for item in remaining):
        return [head, *tail]
    most = max_text_characters(window)
    return [replace(head, parts=[*head.parts, *_again(messages, plan.located, most)]), *tail]


# -- inside ----------------------------------------------------------------------------------------------------


def _from(message: ModelMessage, part: int) -> ModelMessage:
    """Return a message from one of its parts on: results of calls that are gone stand before it."""
    return (
        replace(message, parts=list(message.parts[part:])) if part and isinstance(message, ModelRequest) else message
    )


def _again(messages: Sequence[ModelMessage], located: Sequence[LocatedEntry], most: int) -> list[UserPromptPart]:
    asked = next((item for item in reversed(located) if item.entry.role == "user"), None)
    if asked is None:
        return []
    parts = [part for part in messages[asked.first.message].parts if isinstance(part, UserPromptPart)]
    prompt = "\n\n".join(
        text for part in parts for text, ours in _prompt_texts(part) if not ours or text != WORK_HAS_BEGUN
    )
    shortened = cut_text(prompt, most)
    return [
        UserPromptPart(
            [TextContent(text, metadata={METADATA_KEY: "repeated"}) for text in (shortened, WORK_HAS_BEGUN) if text]
        )
    ]
