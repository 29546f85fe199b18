"""The HUD as a capability of pydantic-ai: every model call of an agent carries it, its history keeps none of it."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal, cast
from urllib.parse import urlsplit

import msgspec
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.direct import model_request
from pydantic_ai.messages import (
    CachePoint,
    CompactionPart,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.run import AgentRunResult
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import AgentDepsT, RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

from hudkit import transcripts
from hudkit.api import Hud
from hudkit.context.compaction.summaries import SUMMARY_SYSTEM_PROMPT
from hudkit.errors import HudkitError
from hudkit.hosts.host_session import HostCall, HostSession, Injection
from hudkit.hosts.in_process import COMPACTION_TOOLS, TOOL_DEFINITIONS, InProcessHud
from hudkit.hosts.pydantic_ai.run_messages import (
    METADATA_KEY,
    HistoryCompaction,
    LocatedEntry,
    PartIndex,
    RunReader,
    compact_history,
    system_size,
    token_usage,
)
from hudkit.tokens import Window, window_of
from hudkit.transcripts import ToolPart

_NOT_FOR_A_SUMMARY = ("tool_choice", "parallel_tool_calls", "openai_previous_response_id", "openai_conversation_id")
"""Settings of the agent's calls that do not fit a call without its tools and its history."""

HOST = "pydantic-ai"

_LOG = logging.getLogger("hudkit.hosts.pydantic_ai")

_RUNNING: ContextVar[str] = ContextVar("hudkit.hosts.pydantic_ai.running", default="")
"""The session of the run that this code runs in: of a run that a tool starts, the parent."""


@dataclass
class HudCapability(AbstractCapability[AgentDepsT]):
    """A heads-up display for every agent that has it: `Agent(model, capabilities=[HudCapability()])`.

    A session is a conversation: its id is the run's `conversation_id`, which goes on with the message history.
    """

    hud: Hud | str | os.PathLike[str] | None = None
    """An open `Hud`, the path of a log, or nothing: the user's own log, which all hosts share."""
    _: KW_ONLY
    project: str | os.PathLike[str] | None = None
    """The directory that the agent works in (default: the current one)."""
    window: int | None = None
    """The model's window in tokens, where the model's profile is not to be believed."""
    tools: Mapping[str, str] = field(default_factory=dict)
    """What tools of yours do, where their names do not say so: `{"load_text": "read"}` (read, write, edit, bash)."""
    resume: str = ""
    """A session of any host whose task a new conversation takes up."""
    compact: bool = True
    """Whether older messages become a summary when the window is full, or when the agent asks for it."""
    id: str | None = "hud"
    attached: InProcessHud = field(init=False, repr=False, compare=False)
    """The log and the conversations, shared by all runs."""
    _session: str = field(default="", init=False, repr=False, compare=False)
    _parent: str = field(default="", init=False, repr=False, compare=False)
    _reader: RunReader = field(init=False, repr=False, compare=False)
    _has_called: bool = field(default=False, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.attached = InProcessHud(self.hud, host=HOST, project=self.project)
        self._reader = RunReader(dated=False, names=self.tools)

    @classmethod
    def combine(cls, capabilities: Sequence[AbstractCapability[AgentDepsT]]) -> AbstractCapability[AgentDepsT]:
        """Return the last one that was given: an agent has one HUD."""
        return capabilities[-1]

    def close(self) -> None:
        """Close the log, where it was opened here; twice is harmless."""
        self.attached.close()

    # -- the run -----------------------------------------------------------------------------------------------

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> HudCapability[AgentDepsT]:
        """Return a copy for one run: the session and the reader of messages are the run's own."""
        run = copy.copy(self)
        run._parent = _RUNNING.get()
        run._session = ctx.conversation_id or ctx.run_id or ""
        if run._session == run._parent:  # a run within a run of the same conversation has messages of its own
            run._session = f"{run._session}/{ctx.run_id}"
        run._reader = RunReader(dated=_has_run_times(ctx.messages), names=self.tools)
        run._has_called = False
        return run

    async def before_run(self, ctx: RunContext[AgentDepsT]) -> None:  # noqa: ARG002 (the session is known)
        """Note that this session runs, so that a run within it is known as its sub-agent; return nothing."""
        _RUNNING.set(self._session)

    async def after_run(self, ctx: RunContext[AgentDepsT], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Record the messages of the finished run; return its result as it is."""
        await self._safely(self._ingest, result.all_messages(), ctx.agent.name if ctx.agent is not None else None)
        return result

    def get_toolset(self) -> _HudToolset:
        """Return the HUD's tools; those about compaction only where we compact."""
        offered = (
            TOOL_DEFINITIONS
            if self.compact
            else tuple(definition for definition in TOOL_DEFINITIONS if definition not in COMPACTION_TOOLS)
        )
        return _HudToolset(offered, self._answer)

    # -- a model call ------------------------------------------------------------------------------------------

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Compact where it is due, the history of the run too, and return the request to send."""
        last = request_context.messages[-1] if request_context.messages else None
        if not self.compact or not isinstance(last, ModelRequest):  # a response that goes on is left as it is
            return request_context
        try:
            history, sent = await self._compacted(ctx, request_context)
        except Exception:
            _LOG.exception("a call goes without a compaction")
            return request_context
        if not _same(history, ctx.messages):
            ctx.messages[:] = history
        return request_context if _same(sent, request_context.messages) else replace(request_context, messages=sent)

    async def prepare_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Return the request with the HUD, for this attempt alone: in the instructions, and behind its messages."""
        done = await self._safely(self._written, ctx.agent.name if ctx.agent is not None else None, request_context)
        return request_context if done is None else done

    async def after_model_request(
        self,
        ctx: RunContext[AgentDepsT],  # noqa: ARG002 (the session is known)
        *,
        request_context: ModelRequestContext,  # noqa: ARG002
        response: ModelResponse,
    ) -> ModelResponse:
        """Record what a response says of the tokens in use; return the response as it is."""
        usage = token_usage(response)
        if usage is not None:
            await self._safely(lambda: self.attached.report_usage(self._session, usage.used, parent=self._parent))
        return response

    # -- inside ------------------------------------------------------------------------------------------------

    async def _safely(self, do: Callable[..., Any], *arguments: Any) -> Any:
        """Return what `do` gives, off the event loop; `None` where it fails, which is no reason for the agent to."""
        try:
            return await asyncio.to_thread(do, *arguments)
        except (HudkitError, OSError) as error:
            _LOG.debug("the log cannot be used: %s", error)  # each call that goes without the HUD warns
        except Exception:
            _LOG.exception("a call goes without the HUD")
        return None

    def _answer(self, name: str, arguments: Mapping[str, object] | str) -> str:
        try:
            return self.attached.tool(self._session, name, arguments, parent=self._parent).text
        except Exception as error:  # it would end the run
            _LOG.exception("a call of %s is not answered", name)
            return f"not recorded: {type(error).__name__}"

    def _ingest(self, messages: Sequence[ModelMessage], agent: str | None) -> None:
        entries = [item.entry for item in self._reader.read(messages)]
        self.attached.with_session(
            self._session, lambda session: session.ingest(entries, agent=agent or ""), parent=self._parent
        )

    def _written(self, agent: str | None, request: ModelRequestContext) -> ModelRequestContext:
        located = self._reader.read(request.messages)
        placing = self._placed(agent, request, located)
        messages = _with_blocks(request.messages, located, placing, _tail_cache_point(request.model_settings))
        parameters = _with_base(request.model_request_parameters, placing.base, request.messages)
        if placing.base and not _marks_instructions(request.model_settings):
            messages, parameters = _one_system_text(messages, parameters)
            _join_announcements(request.model)
        return replace(request, messages=messages, model_request_parameters=parameters)

    def _placed(self, agent: str | None, request: ModelRequestContext, located: Sequence[LocatedEntry]) -> Injection:
        if self.resume and not self._parent:
            self.resume = self.attached.resume(self._session, self.resume)
        parameters = request.model_request_parameters
        instructed = sum(len(part.content) for part in _instruction_parts(parameters, request.messages))
        asked = HostCall(
            entries=[item.entry for item in located],
            window=self._window(request),
            model=request.model.model_name,
            system=instructed + system_size(request.messages),
            tools=_tools_size(parameters),
            agent=agent or "",
            prunes=True,
            # Within a run messages only come; who else processes its history may leave some away for one call.
            history=() if self._has_called else None,
        )
        self._has_called = True
        return self.attached.prepare_call(self._session, asked, parent=self._parent)

    def _window(self, request: ModelRequestContext) -> Window:
        most = (request.model_settings or {}).get("max_tokens")
        model: Model = request.model
        window = window_of(model.model_name, host=self.window or model.context_window, host_output=most)
        return msgspec.structs.replace(window, source="user") if self.window else window

    async def _compacted(
        self, ctx: RunContext[AgentDepsT], request: ModelRequestContext
    ) -> tuple[list[ModelMessage], list[ModelMessage]]:
        """Return the history of the run, and what is sent of it: as they are where nothing is due."""
        history, sent = (
            _messages_since_summary(ctx.messages),
            _messages_since_summary(request.messages),
        )
        window = self._window(request)
        plan = await self._safely(self._plan, sent, window)
        if plan is None:
            return history, sent
        summary = await self._summary(ctx, plan, request)
        done = compact_history(sent, plan, summary, window)
        if _same(history, sent):
            return done, done
        return compact_history(history, plan.of(self._reader.read(history)), summary, window), done

    def _plan(self, messages: Sequence[ModelMessage], window: Window) -> HistoryCompaction | None:
        assumed = window.source == "assumed"
        return self.attached.with_session(
            self._session,
            lambda session: _plan_compaction(
                session, lambda: self._reader.read(messages), window, asked_only=assumed
            ),
            parent=self._parent,
        )

    async def _summary(
        self, ctx: RunContext[AgentDepsT], plan: HistoryCompaction, request: ModelRequestContext
    ) -> ModelRequest:
        text = finish = ""
        try:
            response = await _request_summary(plan, request.model, request.model_settings)
        except Exception as error:
            _LOG.warning("a summary is made of the log, the model wrote none: %s", error)
        else:
            ctx.usage.incr(response.usage)
            text, finish = response.text or "", response.finish_reason or ""
        usable = await self._safely(
            lambda: self.attached.with_session(
                self._session, lambda session: session.usable_summary(text, finish), parent=self._parent
            )
        )
        summary, why = usable if usable is not None else (text, "")
        now = datetime.now(UTC)
        noted = {"at": now.isoformat(), "why": why}  # the times of requests change where the host joins two of them
        return ModelRequest(
            [CompactionPart(summary, metadata={METADATA_KEY: noted})],
            timestamp=now,
            run_id=ctx.run_id,
            conversation_id=ctx.conversation_id,
        )


def _same(some: Sequence[ModelMessage], others: Sequence[ModelMessage]) -> bool:
    return len(some) == len(others) and all(message is other for message, other in zip(some, others, strict=True))


_AnswerCall = Callable[[str, Mapping[str, object] | str], str]
"""Answers a call of a tool, by its name and its arguments as the model wrote them."""

_BROKEN = "\0"
"""The name of the only argument where the model's arguments are no JSON object: they are answered as text."""


class _HudToolset(AbstractToolset[Any]):
    """`definitions` are tools as name, description and JSON Schema."""

    def __init__(self, definitions: Sequence[Mapping[str, Any]], answer: _AnswerCall) -> None:
        self._definitions = definitions
        self._answer = answer

    @property
    def id(self) -> str:
        return "hudkit"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:  # noqa: ARG002 (all the same)
        return {
            definition["name"]: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=definition["name"],
                    description=definition["description"],
                    parameters_json_schema=definition["parameters"],
                    strict=False,
                ),
                max_retries=1,
                args_validator=_AsWritten(),
            )
            for definition in self._definitions
        }

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],  # noqa: ARG002 (the run is known)
        tool: ToolsetTool[Any],  # noqa: ARG002
    ) -> str:
        return await asyncio.to_thread(self._answer, name, tool_args.get(_BROKEN, tool_args))


# A tool that raises ends a run in pydantic-ai, and a validation error costs one of the few retries of the agent.
class _AsWritten:
    """Takes any arguments; the operations check their own, and tell the agent how to call them right."""

    def validate_json(
        self,
        input: str | bytes | bytearray,
        *,
        allow_partial: bool | Literal["off", "on", "trailing-strings"] = False,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> dict[str, Any]:
        try:
            arguments = json.loads(input)
        except ValueError:
            arguments = None
        if isinstance(arguments, dict):
            return arguments
        return {_BROKEN: input if isinstance(input, str) else bytes(input).decode("utf-8", "replace")}

    def validate_python(
        self,
        input: Any,
        *,
        allow_partial: bool | Literal["off", "on", "trailing-strings"] = False,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> dict[str, Any]:
        return input if isinstance(input, dict) else {_BROKEN: str(input)}


# --- The HUD in a request: copies with the base, the blocks and the tail; the run's own messages stay.


_CACHED = ("anthropic_cache_messages", "anthropic_cache", "bedrock_cache_messages", "openrouter_cache_messages")
"""Settings by which pydantic-ai has the last block of a request end a cached prefix."""


_MARKED = (
    *("anthropic_cache_instructions", "anthropic_cache", "bedrock_cache_instructions"),
    *("openrouter_cache_instructions", "openai_cache_instructions"),
)
"""Settings by which pydantic-ai has parts of the instructions end a cached prefix."""


def _marks_instructions(settings: Mapping[str, Any] | None) -> bool:
    """Return whether parts of the instructions have to stay blocks of their own: breakpoints stand on them."""
    return any((settings or {}).get(name) for name in _MARKED)


def _one_system_text(
    messages: list[ModelMessage], parameters: ModelRequestParameters
) -> tuple[list[ModelMessage], ModelRequestParameters]:
    """Return the request with its system prompts and instructions as one text, in the order in which they are sent.

    pydantic-ai sends each as a system message, and chat templates of open models refuse a second one, or drop it
    without a word. Parts that it follows by their ids, to tell later what has changed in them, stay as they are.
    """
    parts = parameters.instruction_parts or []
    if any(part.on_change == "append" for part in parts):
        return messages, parameters
    first = messages[0]
    standing: list[SystemPromptPart] = []
    for part in first.parts:
        if not isinstance(part, SystemPromptPart) or part.scope != "conversation":
            break
        standing.append(part)
    # A request without any part is not one; so its system prompts stay where they are all that it has.
    if isinstance(first, ModelRequest) and standing and len(standing) < len(first.parts):
        messages = [replace(first, parts=first.parts[len(standing) :]), *messages[1:]]
    else:
        standing = []
    texts = [*(part.content for part in standing), *(part.content for part in parts)]
    text = "\n\n".join(filter(None, texts))
    return messages, replace(parameters, instruction_parts=[InstructionPart(content=text)])


def _join_announcements(model: Model) -> None:
    """Have pydantic-ai join what it adds to a system prompt by itself, behind our hook, to the one system message.

    These are announcements of its frames, such as a summary of ours. Flags of a profile are its own way for servers
    with a chat template: more than one system message is joined, and none stands in the middle of a conversation.
    """
    if isinstance(model, WrapperModel):
        _join_announcements(model.wrapped)
    elif isinstance(model, FallbackModel):
        for each in model.models:
            _join_announcements(each)
    else:
        profile = cast(dict[str, Any], model.profile)
        profile.setdefault("openai_chat_supports_multiple_system_messages", False)
        # who speaks OpenAI's protocol and is not OpenAI has a template, whatever the profile of the client says
        if model.system == "openai" and urlsplit(model.base_url or "").hostname != "api.openai.com":
            profile["supports_inline_system_prompts"] = False


def _with_base(
    parameters: ModelRequestParameters, base: str, messages: Sequence[ModelMessage]
) -> ModelRequestParameters:
    """Return the parameters with the base behind the instructions that stay, before those that a function writes
    anew.
    """
    if not base:
        return parameters
    parts = _instruction_parts(parameters, messages)
    index = next((n for n, part in enumerate(parts) if part.dynamic), len(parts))
    return replace(parameters, instruction_parts=[*parts[:index], InstructionPart(content=base), *parts[index:]])


def _instruction_parts(parameters: ModelRequestParameters, messages: Sequence[ModelMessage]) -> list[InstructionPart]:
    """Return what the model is instructed: the parts, or where there are none, the text in the last request."""
    if parameters.instruction_parts is not None:
        return list(parameters.instruction_parts)
    last = next((message for message in reversed(messages) if isinstance(message, ModelRequest)), None)
    return [InstructionPart(content=last.instructions)] if last is not None and last.instructions else []


def _tail_cache_point(settings: Mapping[str, Any] | None) -> CachePoint | None:
    """Return the mark that goes before the tail where the host puts one on the last block: what is behind it is not
    sent again, so that nothing could be read from a cache that ends there.
    """
    asked = next((value for name in _CACHED if (value := (settings or {}).get(name))), None)
    return CachePoint(ttl="1h" if asked == "1h" else "5m") if asked else None


def _with_blocks(
    messages: Sequence[ModelMessage],
    located: Sequence[LocatedEntry],
    placing: Injection,
    point: CachePoint | None = None,
) -> list[ModelMessage]:
    """Return the messages with the blocks behind their entries, the tail behind everything, stubs for old outputs.

    `point` is put before the tail where it stands in a prompt's text.
    """
    added: dict[int, dict[int, list[str | CachePoint]]] = {}
    for n, blocks in placing.behind.items():
        place = located[n].last
        if place is not None:
            place = _carrier(messages, located, n, place)
            added.setdefault(place.message, {}).setdefault(place.part, []).extend(blocks)
    end = len(messages) - 1
    if placing.tail and end >= 0 and isinstance(messages[end], ModelRequest):
        last = messages[end].parts[-1] if messages[end].parts else None
        behind = added.setdefault(end, {}).setdefault(len(messages[end].parts) - 1, [])
        # Only in a prompt's text: pydantic-ai takes no cache point in a tool's result.
        behind += [point] if point is not None and isinstance(last, UserPromptPart) and _ends_in_text(last) else []
        behind.append(placing.tail)
    if not added and not placing.stubs:
        return list(messages)
    return [
        _changed(message, added.get(n, {}), placing.stubs) if isinstance(message, ModelRequest) else message
        for n, message in enumerate(messages)
    ]


def _carrier(messages: Sequence[ModelMessage], located: Sequence[LocatedEntry], n: int, last: PartIndex) -> PartIndex:
    """Return the part that carries an entry's blocks: of several results, the last one that is plain text to the
    model.
    """
    if located[n].entry.role != "tool":
        return last
    calls = {part.call_id for part in located[n].entry.message.parts if isinstance(part, ToolPart)}
    places = [
        PartIndex(last.message, index)
        for index, part in enumerate(messages[last.message].parts)
        if (result := _as_text(part)) is not None and result.tool_call_id in calls
    ]
    return places[-1] if places else last


def _as_text(part: object) -> ToolReturnPart[Any] | None:
    """Return a tool's result that a block can stand in: none that is an error, has files, or has a form of its own,
    which providers put into something else than text.
    """
    if type(part) is not ToolReturnPart or part.tool_kind is not None:
        return None
    return part if part.outcome == "success" and not part.files else None


def _ends_in_text(part: UserPromptPart) -> bool:
    items = [part.content] if isinstance(part.content, str) else part.content
    return bool(items) and isinstance(items[-1], str)


def _changed(
    message: ModelRequest, added: Mapping[int, list[str | CachePoint]], stubs: Mapping[str, str]
) -> ModelRequest:
    parts: list[ModelRequestPart] = []
    changed = False
    for n, part in enumerate(message.parts):
        blocks = added.get(n, [])
        result = _as_text(part)
        stub = stubs.get(result.tool_call_id) if result is not None else None
        changed = changed or bool(blocks) or stub is not None
        if result is not None and (blocks or stub is not None):
            text = result.model_response_str() if stub is None else stub
            texts = [block for block in blocks if isinstance(block, str)]
            parts.append(replace(result, content="\n".join([text, *texts])))
        elif isinstance(part, UserPromptPart) and blocks:
            content = [part.content] if isinstance(part.content, str) else part.content
            parts.append(replace(part, content=[*content, *blocks]))
        else:
            parts.append(part)
            if blocks:
                parts.append(UserPromptPart(blocks))
    return replace(message, parts=parts) if changed else message


# --- The HUD's tools in pydantic-ai's form. A mistake in a call is answered, so that none counts as a retry.


def _has_run_times(messages: Sequence[ModelMessage]) -> bool:
    """Return whether the times in a history are those of the runs that made it: a client that sends the conversation
    anew gives no runs, and each time other times.
    """
    first = next(
        (message for message in messages if isinstance(message, ModelResponse)), messages[0] if messages else None
    )
    return first is None or bool(first.run_id)


def _tools_size(parameters: ModelRequestParameters) -> int:
    """Return the characters of the list of tools."""
    tools = (*parameters.function_tools, *parameters.output_tools)
    return sum(len(tool.name) + len(tool.description or "") + len(str(tool.parameters_json_schema)) for tool in tools)


def _messages_since_summary(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Return the messages from our newest summary on: a history to which a run's new messages were added still has
    what the summary stands for.
    """
    for n in range(len(messages) - 1, 0, -1):
        if any(
            isinstance(part, CompactionPart) and METADATA_KEY in (part.metadata or {}) for part in messages[n].parts
        ):
            return list(messages[n:])
    return list(messages)


def _plan_compaction(
    conversation: HostSession, read: Callable[[], Sequence[LocatedEntry]], window: Window, *, asked_only: bool
) -> HistoryCompaction | None:
    """Return what is to be compacted before the next call; `None`: nothing.

    `asked_only`: not because the window is full. Messages are read where it may be due.
    """
    if not (conversation.compaction_requested or (not asked_only and conversation.is_compaction_due(window))):
        return None
    located = read()
    entries = [item.entry for item in located]
    conversation.ingest(entries)
    if not conversation.is_compaction_due(window):  # now that it is known what the last one freed
        return None
    cut = conversation.tail_start(entries, window)
    if entries and entries[-1].role == "user":
        cut = min(cut, len(entries) - 1)  # what is asked for now is not for a summary
    if cut < 1 or not any(entry.message.role == "assistant" and not entry.message.summary for entry in entries):
        return None
    return HistoryCompaction(located, cut, conversation.start_compaction("auto"))


async def _request_summary(plan: HistoryCompaction, model: Model, settings: ModelSettings | None) -> ModelResponse:
    """Return what the agent's own model writes: without tools, calls and their results told as text, no attachments.

    Raises what pydantic-ai raises.
    """
    request = [*_plain_messages(plan.located[: plan.cut]), ModelRequest([UserPromptPart(plan.prompt)])]
    fitting = {name: value for name, value in (settings or {}).items() if name not in _NOT_FOR_A_SUMMARY}
    parameters = ModelRequestParameters(instruction_parts=[InstructionPart(content=SUMMARY_SYSTEM_PROMPT)])
    return await model_request(
        model, request, model_settings=cast(ModelSettings, fitting) or None, model_request_parameters=parameters
    )


def _plain_messages(located: Sequence[LocatedEntry]) -> list[ModelMessage]:
    """Return entries as plain text, so that every provider takes them without the tools."""
    messages: list[ModelMessage] = []
    for item in located:
        message = item.entry.message
        texts = [part.text for part in message.parts if isinstance(part, transcripts.TextPart)]
        if message.summary:
            texts = ["What came before, as it was summarised then:", *texts]
        if message.role == "user" or message.summary:
            messages.append(ModelRequest([UserPromptPart("\n\n".join(texts) or "(an attachment)")]))
            continue
        calls = [part for part in message.parts if isinstance(part, transcripts.ToolPart)]
        lines = [
            *texts,
            *(f"[called {call.tool} with {json.dumps(call.input, ensure_ascii=False)}]" for call in calls),
        ]
        messages.append(ModelResponse([TextPart("\n\n".join(lines) or "(nothing)")]))
        results = [f"[{call.tool} answered]\n{call.output}" for call in calls if call.done]
        if results:
            messages.append(ModelRequest([UserPromptPart("\n\n".join(results))]))
    return messages
