"""A model call's request, through the hooks in their order: messages, system prompt, parameters, headers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from hudkit.agent.agent_definitions import AgentDefinition
from hudkit.agent.hooks import Chat, ChatMessage, ChatPart, Headers, Messages, Params, System
from hudkit.agent.records import (
    Attachment,
    ChangedFiles,
    CompactionMarker,
    StoredCall,
    StoredMessage,
    StoredPart,
    StoredReasoning,
    StoredText,
    encode_record,
)
from hudkit.agent.run_context import RunContext
from hudkit.agent.system_prompt import SystemPrompt, rejoin_blocks
from hudkit.log.codec import printable
from hudkit.models import (
    AssistantMessage,
    CompletionRequest,
    Media,
    Model,
    Reasoning,
    RequestSettings,
    TextContent,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from hudkit.models import Message as ModelMessage

CONTINUATION = "(The conversation goes on here.)"
"""What stands in front where a request would begin with the model's own words."""

_NO_RESULT = "This call has no result."

PartLookup = Callable[[str], StoredPart | None]
"""A stored part by its id."""


def to_model_messages(
    chat: Iterable[ChatMessage], parts: PartLookup, *, media: bool = True
) -> tuple[ModelMessage, ...]:
    """The messages of a request. `media=False` names attached files instead of sending them."""
    found: list[ModelMessage] = []
    seen: set[str] = set()
    for message in chat:
        found += (
            _user_message(message, parts, media)
            if message.role == "user"
            else _assistant_messages(message, parts, seen)
        )
    if found and not isinstance(found[0], UserMessage):
        found.insert(0, UserMessage((TextContent(CONTINUATION),)))
    return tuple(found)


def part_lookup(messages: Iterable[StoredMessage]) -> PartLookup:
    known: Mapping[str, StoredPart] = {part.id: part for message in messages for part in message.parts}
    return known.get


def seal_metadata(parts: Sequence[TextContent | Reasoning]) -> dict[str, list[list[object]]]:
    """The `meta` of a stored text or reasoning that is made of these: the length of each, and its seal."""
    if not any(part.seal for part in parts):
        return {}
    return {"seals": [[len(part.text), part.seal] for part in parts]}


def _user_message(message: ChatMessage, parts: PartLookup, media: bool) -> list[ModelMessage]:
    found: list[TextContent | Media] = []
    for part in message.parts:
        if part.kind == "file":
            found.append(_file(part, parts(part.id), media))
        elif part.text:
            found.append(TextContent(printable(part.text)))
    return [UserMessage(tuple(found))] if found else []


def _file(part: ChatPart, stored: StoredPart | None, media: bool) -> TextContent | Media:
    name = str(part.meta.get("path", ""))
    if media and isinstance(stored, Attachment) and stored.data:
        return Media(stored.data, stored.media_type or "application/octet-stream", name)
    return TextContent(f"[attached: {name or 'a file'}{f' ({part.media_type})' if part.media_type else ''}]")


def _assistant_messages(message: ChatMessage, parts: PartLookup, seen: set[str]) -> list[ModelMessage]:
    said: list[TextContent | Reasoning | ToolCall] = []
    results: list[ModelMessage] = []
    for part in message.parts:
        if part.kind == "reasoning":
            said += _sealed(part, parts(part.id), Reasoning)
        elif part.kind != "tool":
            said += _sealed(part, parts(part.id), TextContent)
        elif part.call_id and part.call_id not in seen:
            seen.add(part.call_id)
            failed = part.status not in ("completed", "")
            said.append(_tool_call(part, parts(part.id)))
            results.append(ToolResult(part.call_id, part.tool, printable(part.text) or _NO_RESULT, failed))
    return (
        [AssistantMessage(tuple(said)), *results]
        if any(not isinstance(one, TextContent) or one.text for one in said)
        else []
    )


def _tool_call(part: ChatPart, stored: StoredPart | None) -> ToolCall:
    arguments = encode_record(part.arguments).decode()
    same = isinstance(stored, StoredCall) and (stored.tool, stored.arguments) == (part.tool, part.arguments)
    seal = str(stored.metadata.get("seal", "")) if same and isinstance(stored, StoredCall) else ""
    return ToolCall(part.call_id, part.tool, arguments, seal)


def _sealed(
    part: ChatPart, stored: StoredPart | None, kind: type[TextContent] | type[Reasoning]
) -> list[TextContent | Reasoning | ToolCall]:
    """The pieces that a run of words was made of, each with its seal; one piece where the words are others now."""
    if isinstance(stored, StoredReasoning | StoredText) and (stored.text, stored.meta) == (
        part.text,
        part.meta,
    ):
        found: list[TextContent | Reasoning | ToolCall] = []
        at = 0
        for length, seal in stored.meta.get("seals", ()):
            found.append(kind(part.text[at : at + int(length)], str(seal)))
            at += int(length)
        if at == len(part.text) and found:
            return found
    return [kind(printable(part.text))] if part.text else []


COMPACTION_QUESTION = "What did we do so far?"
"""What the model reads in place of a compaction's marker: the summary answers it."""


def to_chat_messages(
    messages: Iterable[StoredMessage], *, cleared: Callable[[StoredCall], str] | None = None
) -> list[ChatMessage]:
    """Messages as they are sent; `cleared` words a call whose output was taken out of the window.

    Left out: what is ignored, names of changed files, and responses of which an error left nothing to send.
    """
    found = []
    for message in messages:
        parts = [one for part in message.parts for one in _chat_part(part, cleared or _cleared)]
        if parts:
            found.append(ChatMessage(message.role, parts, message.id, message.created, message.summary))
    return found


def from_chat_parts(parts: Sequence[ChatPart], ids: Callable[[], str]) -> tuple[StoredPart, ...]:
    """The parts of a user's message as records; a part without an id gets one. Only text and files are a user's."""
    found: list[StoredPart] = []
    for part in parts:
        if part.kind == "text":
            found.append(StoredText(part.id or ids(), part.text, synthetic=part.synthetic))
        elif part.kind == "file":
            found.append(Attachment(part.id or ids(), str(part.meta.get("path", "")), part.media_type))
    return tuple(found)


def tool_result_text(call: StoredCall, cleared: Callable[[StoredCall], str] | None = None) -> str:
    """What the model reads as the result of a call."""
    if call.status == "error":
        return call.error
    if call.status != "completed":
        return "This call has no result yet."
    return (cleared or _cleared)(call) if call.compacted else call.output


def _cleared(call: StoredCall) -> str:
    return f"[The output of this call ({len(call.output):,} characters) was taken out of the window.]"


def _chat_part(part: StoredPart, cleared: Callable[[StoredCall], str]) -> Iterator[ChatPart]:
    match part:
        case StoredText() if not part.ignored:
            yield ChatPart("text", part.text, part.id, part.synthetic, meta=part.meta)
        case StoredReasoning():
            yield ChatPart("reasoning", part.text, part.id, meta=part.meta)
        case Attachment():
            yield ChatPart("file", id=part.id, media_type=part.media_type, meta={"path": part.path})
        case CompactionMarker():
            yield ChatPart("marker", COMPACTION_QUESTION, part.id)
        case StoredCall():
            yield ChatPart(
                "tool",
                tool_result_text(part, cleared),
                part.id,
                tool=part.tool,
                call_id=part.call_id,
                arguments=part.arguments,
                status=part.status,
            )
        case ChangedFiles() | StoredText():
            return


async def build_request(
    course: RunContext,
    messages: Sequence[StoredMessage],
    *,
    agent: AgentDefinition,
    model: Model,
    prompt: SystemPrompt,
    tools: Sequence[ToolSpec],
    more: Sequence[ModelMessage] = (),
    media: bool = True,
) -> CompletionRequest:
    """The request of a call over these messages; `more` stands behind them, and no hook sees it.

    Nothing that is stored changes: hooks get copies.
    """
    hooks = course.setup.hooks
    last = next((one.id for one in reversed(messages) if one.role == "user"), "")
    given = Chat(course.id, agent.name, model.name, last)
    left = await hooks.run("messages_transform", given, Messages(to_chat_messages(messages, cleared=_pruned_note)))
    said = to_model_messages(left.messages, part_lookup(messages), media=media)
    blocks = await hooks.run("system_transform", given, System(list(prompt.blocks)))
    params = await hooks.run("chat_params", given, Params(agent.temperature, None, course.rules.max_output, {}))
    headers = await hooks.run("chat_headers", given, Headers())
    return CompletionRequest(
        tuple(rejoin_blocks(prompt.header, blocks.system)),
        (*said, *more),
        tuple(tools),
        RequestSettings(
            max_output=params.max_tokens,
            temperature=params.temperature,
            top_p=params.top_p,
            headers={**course.setup.auth.get(model.name, {}), **headers.headers},
            options=dict(params.options),
        ),
    )


def _pruned_note(call: StoredCall) -> str:
    """What stands in the place of an output that was taken out of the window."""
    return f"[pruned: {call.tool}, {len(call.output):,} characters; call it again where they are needed]"
