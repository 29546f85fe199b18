"""A model call's request: stored messages become what hooks may change, and that becomes what is sent.

    StoredMessage  --to_chat_messages-->  ChatMessage  --hooks-->  ChatMessage  --to_model_messages-->  models.Message

A tool part is a call and its result in one, so no call can be sent without its result. What UTF-8 cannot carry is
written out as it is in the store, so that a request is the same after the session was opened again.

Seals: a provider may hand a mark with its own words (an id, a signature) and want it back with exactly these words. A
stored text keeps the length and the seal of each piece that it was made of, and is cut into the same pieces again:

    text "I look. Then I act.", seals [[7, "s1"], [12, "s2"]]   ->   ("I look.", "s1"), (" Then I act.", "s2")

Where a hook has changed the text, it is one piece without a seal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

from hudkit.agent.agent_definitions import AgentDefinition
from hudkit.agent.hooks import ChatMessage, ChatPart, Headers, Messages, ModelCallContext, Params, System
from hudkit.agent.records import (
    Attachment,
    ChangedFiles,
    CompactionMarker,
    StoredCall,
    StoredMessage,
    StoredPart,
    StoredReasoning,
    StoredText,
    TrimMarker,
    encode_record,
)
from hudkit.agent.run_context import RunContext
from hudkit.agent.system_prompt import SystemPrompt, rejoin_blocks
from hudkit.context.compaction.pruning import stub_text
from hudkit.log.codec import escape_surrogates
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
"""What stands in front where a request would begin with the model's own words: no server takes that."""

UNANSWERED = "(This was left unanswered.)"
"""What stands for the model's answer between results or words of the user and more words of the user: a turn that was
cancelled or failed has none, and the chat templates of Mistral's models refuse two messages of a user in a row."""

COMPACTION_QUESTION = "What did we do so far?"
"""What the model reads in place of a compaction's marker: the summary answers it."""

_NO_RESULT = "This call has no result."

PartLookup = Callable[[str], StoredPart | None]
"""Gives a stored part by its id."""


async def build_request(
    run: RunContext,
    messages: Sequence[StoredMessage],
    *,
    agent: AgentDefinition,
    model: Model,
    prompt: SystemPrompt,
    tools: Sequence[ToolSpec],
    more: Sequence[ModelMessage] = (),
    media: bool = True,
) -> CompletionRequest:
    """Return the request of a model call over these messages, as the hooks left it.

    `more` stands behind the messages, and no hook sees it. `media=False` names attached files instead of sending
    them. Nothing that is stored changes: hooks get copies.
    """
    hooks = run.setup.hooks
    last_user = next((message.id for message in reversed(messages) if message.role == "user"), "")
    chat = ModelCallContext(run.id, agent.name, model.name, last_user)
    hooked = Messages(_chat_messages(run, messages))
    blocks, headers = System(list(prompt.blocks)), Headers()
    params = Params(agent.temperature, None, run.settings.max_output, {})
    # messages before the system prompt: the HUD works out both from the messages, and puts its base into the prompt
    await hooks.run_all(
        (
            ("messages_transform", chat, hooked),
            ("system_transform", chat, blocks),
            ("chat_params", chat, params),
            ("chat_headers", chat, headers),
        )
    )
    converted = to_model_messages(hooked.messages, part_lookup(messages), media=media, more=more)
    return CompletionRequest(
        tuple(rejoin_blocks(prompt.header, blocks.system)),
        converted,
        tuple(tools),
        RequestSettings(
            max_output=params.max_tokens,
            temperature=params.temperature,
            top_p=params.top_p,
            effort=agent.effort or run.settings.effort,
            headers={**run.setup.auth_headers.get(model.name, {}), **headers.headers},
            options=dict(params.options),
        ),
    )


def _chat_messages(run: RunContext, messages: Sequence[StoredMessage]) -> list[ChatMessage]:
    """Return messages as hooks see them; those that are as in the request before are the very same objects."""
    words, before = run.gives_outputs_back, run.chat_messages
    run.chat_messages, chat = {}, []
    for message in messages:
        converted = before.get(message.id)
        if converted is None or converted[0] is not message or converted[1] != words:
            converted = (message, words, to_chat_messages((message,), pruned=_pruned_words(run)))
        run.chat_messages[message.id] = converted
        chat += converted[2]
    return chat


def to_chat_messages(
    messages: Iterable[StoredMessage], *, pruned: Callable[[StoredCall], str] | None = None
) -> list[ChatMessage]:
    """Return messages as hooks see them; `pruned` words a call whose output was taken out of the window.

    Left out: what is ignored, names of changed files, and responses of which an error left nothing to send.
    """
    converted = []
    for message in messages:
        parts = [chat_part for part in message.parts for chat_part in _chat_part(part, pruned or _removed_note)]
        if parts:
            converted.append(ChatMessage(message.role, parts, message.id, message.created, message.summary))
    return converted


def from_chat_parts(parts: Sequence[ChatPart], ids: Callable[[], str]) -> tuple[StoredPart, ...]:
    """Return the parts of a user's message as records; a part without an id gets one.

    Only text and files are a user's: other kinds are left out.
    """
    records: list[StoredPart] = []
    for part in parts:
        if part.kind == "text":
            records.append(StoredText(part.id or ids(), part.text, synthetic=part.synthetic))
        elif part.kind == "file":
            records.append(Attachment(part.id or ids(), str(part.meta.get("path", "")), part.media_type))
    return tuple(records)


def tool_result_text(call: StoredCall, pruned: Callable[[StoredCall], str] | None = None) -> str:
    """Return what the model reads as the result of a call."""
    if call.status == "error":
        return call.error
    if call.status != "completed":
        return "This call has no result yet."
    return (pruned or _removed_note)(call) if call.compacted else call.output


def to_model_messages(
    chat: Iterable[ChatMessage], parts: PartLookup, *, media: bool = True, more: Sequence[ModelMessage] = ()
) -> tuple[ModelMessage, ...]:
    """Return the messages of a request, in an order that every server takes; `more` stands behind them.

    `parts` finds what hooks do not see: seals, and the bytes of files. `media=False` names files instead.
    """
    converted: list[ModelMessage] = []
    seen: set[str] = set()
    for message in chat:
        if message.role == "user":
            converted += _user_message(message, parts, media)
        else:
            converted += _assistant_messages(message, parts, seen, media)
    if converted and not isinstance(converted[0], UserMessage):
        converted.insert(0, UserMessage((TextContent(CONTINUATION),)))
    return tuple(_with_answers((*converted, *more)))


def _with_answers(messages: Iterable[ModelMessage]) -> Iterator[ModelMessage]:
    """Yield the messages of a request, with an answer before each message of the user that has none before it.

    What stands before is as it was: the request of a call stays the beginning of the next one.
    """
    before: ModelMessage | None = None
    for message in messages:
        if isinstance(message, UserMessage) and isinstance(before, UserMessage | ToolResult):
            yield AssistantMessage((TextContent(UNANSWERED),))
        yield message
        before = message


def part_lookup(messages: Iterable[StoredMessage]) -> PartLookup:
    """Return what finds a part of these messages by its id."""
    by_id: Mapping[str, StoredPart] = {part.id: part for message in messages for part in message.parts}
    return by_id.get


def _pruned_words(run: RunContext) -> Callable[[StoredCall], str]:
    """Return what words a pruned call: its stub; the output itself where the model could not get it back (a session
    that was pruned with the HUD goes on without it)."""
    return _stub if run.gives_outputs_back else attrgetter("output")


def _stub(call: StoredCall) -> str:
    return stub_text(call.call_id, call.tool, len(call.output))


def _removed_note(call: StoredCall) -> str:
    return f"[The output of this call ({len(call.output):,} characters) was taken out of the window.]"


def _chat_part(part: StoredPart, pruned: Callable[[StoredCall], str]) -> Iterator[ChatPart]:
    match part:
        case StoredText() if not part.ignored:
            yield ChatPart("text", part.text, part.id, part.synthetic, meta=part.meta)
        case StoredReasoning():
            yield ChatPart("reasoning", part.text, part.id, meta=part.meta)
        case Attachment():
            yield ChatPart("file", id=part.id, media_type=part.media_type, meta={"path": part.path})
        case CompactionMarker():
            yield ChatPart("marker", COMPACTION_QUESTION, part.id)
        case TrimMarker():
            yield ChatPart("text", part.text, part.id, synthetic=True)
        case StoredCall():
            yield ChatPart(
                "tool",
                tool_result_text(part, pruned),
                part.id,
                tool=part.tool,
                call_id=part.call_id,
                arguments=part.arguments,
                status=part.status,
            )
        case ChangedFiles() | StoredText():
            return


def _user_message(message: ChatMessage, parts: PartLookup, media: bool) -> list[ModelMessage]:
    content: list[TextContent | Media] = []
    for part in message.parts:
        if part.kind == "file":
            content.append(_file(part, parts(part.id), media))
        elif part.text:
            content.append(TextContent(escape_surrogates(part.text)))
    return [UserMessage(tuple(content))] if content else []


def _file(part: ChatPart, stored: StoredPart | None, media: bool) -> TextContent | Media:
    name = str(part.meta.get("path", ""))
    if media and isinstance(stored, Attachment) and stored.data:
        return Media(stored.data, stored.media_type or "application/octet-stream", name)
    kind = f" ({part.media_type})" if part.media_type else ""
    return TextContent(f"[attached: {name or 'a file'}{kind}]")


def _assistant_messages(message: ChatMessage, parts: PartLookup, seen: set[str], media: bool) -> list[ModelMessage]:
    """Return a response and the results of its calls; nothing for one without words, thoughts or calls."""
    pieces: list[TextContent | Reasoning | ToolCall] = []
    results: list[ModelMessage] = []
    for part in message.parts:
        if part.kind == "reasoning":
            pieces += _sealed(part, parts(part.id), Reasoning)
        elif part.kind != "tool":
            pieces += _sealed(part, parts(part.id), TextContent)
        elif part.call_id and part.call_id not in seen:  # servers refuse an id that comes twice
            seen.add(part.call_id)
            failed = part.status not in ("completed", "")
            pieces.append(_tool_call(part, parts(part.id)))
            words = escape_surrogates(part.text) or _NO_RESULT
            files = _result_media(parts(part.id)) if media else ()
            results.append(ToolResult(part.call_id, part.tool, words, failed, files))
    has_content = any(not isinstance(piece, TextContent) or piece.text for piece in pieces)
    return [AssistantMessage(tuple(pieces)), *results] if has_content else []


def _result_media(stored: StoredPart | None) -> tuple[Media, ...]:
    """Return what belongs to the output of a call, as long as the output is in the window."""
    if not isinstance(stored, StoredCall) or stored.compacted:
        return ()
    return tuple(Media(file.data, file.media_type, file.path) for file in stored.attachments if file.data)


def _tool_call(part: ChatPart, stored: StoredPart | None) -> ToolCall:
    arguments = encode_record(part.arguments).decode()
    seal = ""
    if isinstance(stored, StoredCall) and (stored.tool, stored.arguments) == (part.tool, part.arguments):
        seal = str(stored.metadata.get("seal", ""))
    return ToolCall(part.call_id, part.tool, arguments, seal)


def _sealed(
    part: ChatPart, stored: StoredPart | None, kind: type[TextContent] | type[Reasoning]
) -> list[TextContent | Reasoning | ToolCall]:
    """Return the pieces that a run of words was made of, with their seals; one piece where the words have changed."""
    if isinstance(stored, StoredReasoning | StoredText) and (stored.text, stored.meta) == (part.text, part.meta):
        pieces: list[TextContent | Reasoning | ToolCall] = []
        offset = 0
        for length, seal in stored.meta.get("seals", ()):
            pieces.append(kind(part.text[offset : offset + int(length)], str(seal)))
            offset += int(length)
        if offset == len(part.text) and pieces:
            return pieces
    return [kind(escape_surrogates(part.text))] if part.text else []
