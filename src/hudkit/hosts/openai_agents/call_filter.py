"""The model calls of runs with the Agents SDK: each goes out with the HUD, after a compaction where one is due."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from inspect import isawaitable
from typing import Any, NamedTuple, cast
from uuid import uuid4

import msgspec
from agents import Agent, FunctionTool, Model, ModelResponse, RunConfig, Runner
from agents.items import TResponseInputItem
from agents.memory import OpenAIConversationsSession, Session, is_openai_responses_compaction_aware_session
from agents.models import get_default_model
from agents.run_config import CallModelData, CallModelInputFilter, ModelInputData
from agents.usage import Usage

from hudkit.context.compaction.summaries import SUMMARY_SYSTEM_PROMPT
from hudkit.errors import HudkitError
from hudkit.hosts.host_session import HostCall, HostMessage, HostSession, Injection
from hudkit.hosts.in_process import InProcessHud
from hudkit.hosts.openai_agents.input_items import (
    InputItem,
    MessageSpan,
    TranscriptContext,
    is_summary_question,
    is_text,
    message_spans,
    summary_items,
    with_frame,
)
from hudkit.tokens import Window, window_of
from hudkit.transcripts import ReportedUsage

# --- What is known of a model call of the Agents SDK, and what its response cost.


_LOG = logging.getLogger("hudkit.hosts.openai_agents")


class _ActiveCall(NamedTuple):
    """What runs in a context: the calls of a run, the conversation, and a tool call that starts a sub-agent there."""

    calls: CallFilter
    scope: _SdkConversation
    call: str = ""


ACTIVE_CALL: ContextVar[_ActiveCall | None] = ContextVar("hudkit_openai_agents", default=None)
"""Set by each model call for what follows it in the same turn: the hooks, and the tools."""


class CallFilter:
    """The filter through which every model call of one run goes, and of the runs that its tools start with it."""

    def __init__(
        self,
        shared: RunnerState,
        config: RunOptions,
        session: Session | None,
        *,
        name: str,
        chained: bool,
    ) -> None:
        """`config` is the user's. `name` is the host's id of a conversation that has no session; `chained`: the
        provider keeps the conversation."""
        self.attached = shared.attached
        self._shared = shared
        self._config = config
        self._session = session
        self._name = name
        self._chained = chained
        self._compact = shared.compact and _can_rewrite(session) and not chained
        self._root: _SdkConversation | None = None
        self._followed: set[str] = set()

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        request = await self._by_user(data)
        tools = {tool.name for tool in data.agent.tools if isinstance(tool, FunctionTool)}
        # An agent without the tools was not made by `hud.agent`: it could neither record nor look up what it is told.
        if not self._shared.offered <= tools:
            return request
        try:
            return await self._with_hud(self.scope(), data.agent, request)
        except Exception:
            _LOG.exception("a call goes without the HUD")
            return request

    def scope(self) -> _SdkConversation:
        """Return the conversation that a call in this context belongs to: that of the run, or of a sub-agent which a
        tool of it has started with the same filter.
        """
        now = ACTIVE_CALL.get()
        if now is None or now.calls is not self:
            scope = self._root = self._root or self._opened(now)
        else:
            scope = self._shared.scope(f"{now.scope.id}.{now.call}", now.scope.id) if now.call else now.scope
        ACTIVE_CALL.set(_ActiveCall(self, scope))
        return scope

    async def answered(self, scope: _SdkConversation, response: ModelResponse) -> None:
        """Take up a response. What ends a run is recorded at once, what goes on with the next call. Never raises."""
        try:
            calls = scope.answered(response)
            if not calls:
                await asyncio.to_thread(self._ingest, scope)
        except Exception:
            _LOG.exception("what was answered is not recorded yet")
            return
        if response.response_id and scope is self._root and not (self._name or self._session):
            self._shared.remember(response.response_id, scope.id)
        if not calls and not self._chained:
            scope.rest()

    def tool(self, scope: _SdkConversation, name: str, arguments: str) -> str:
        """Return what a call of one of the HUD's tools is answered."""
        self.attached.report_usage(scope.id, scope.used, parent=scope.parent)
        return self.attached.tool(scope.id, name, arguments, parent=scope.parent).text

    # -- inside ------------------------------------------------------------------------------------------------

    def _ingest(self, scope: _SdkConversation) -> None:
        entries = [span.entry for span in scope.read(scope.items)]
        self.attached.report_usage(scope.id, scope.used, parent=scope.parent)
        with suppress(HudkitError, OSError):
            self.attached.with_session(scope.id, lambda session: session.ingest(entries), parent=scope.parent)

    def _opened(self, now: _ActiveCall | None) -> _SdkConversation:
        started = now.scope.id if now is not None and now.scope.busy else ""
        own = self._session.session_id if self._session is not None else self._name
        return self._shared.scope(own or f"{started}.{uuid4().hex}".removeprefix("."), started)

    async def _by_user(self, data: CallModelData[Any]) -> ModelInputData:
        """Return what the user's own filter makes of the call."""
        own: CallModelInputFilter | None = config_option(self._config, "call_model_input_filter")
        if own is None or isinstance(own, CallFilter):
            return data.model_data
        filtered = own(data)
        return await filtered if isawaitable(filtered) else filtered

    async def _with_hud(self, scope: _SdkConversation, agent: Agent[Any], request: ModelInputData) -> ModelInputData:
        sent = cast(list[InputItem], request.input)
        raw = [*scope.items, *sent] if self._chained else sent
        spans = scope.read(raw)
        # The SDK sends the whole conversation at each call; where the provider keeps it (`chained`), only what is
        # new.
        past = 0 if self._chained else scope.compacted.end(spans)
        items = [*scope.compacted.items, *raw[past:]] if past else list(raw)
        standing = scope.read(items) if past else spans
        ask = self._asked(agent, request.instructions, standing)
        own = config_option(self._config, "call_model_input_filter")
        filtered = own is not None and not isinstance(own, CallFilter)
        if self._chained or scope.id in self._followed or filtered:
            # Within a run items only come; what a handoff or a filter leaves away is not taken back.
            ask = msgspec.structs.replace(ask, history=())
        self._followed.add(scope.id)
        scope.compacts, scope.busy = self._compact, 0
        placing = await asyncio.to_thread(self._placing, scope, ask, may_compact=self._compact)
        if placing is None:
            items = await self._shortened(scope, agent, items, standing, spans, ask.window)
            standing = scope.read(items)
            ask = msgspec.structs.replace(ask, entries=[span.entry for span in standing])
            placing = await asyncio.to_thread(self.attached.prepare_call, scope.id, ask, parent=scope.parent)
        scope.items = items
        out = (
            _new_items_with_frame(sent, len(raw) - len(sent), standing, placing)
            if self._chained
            else with_frame(items, standing, placing)
        )
        return ModelInputData(cast(list[TResponseInputItem], out), _with_base(request.instructions, placing.base))

    def _placing(self, scope: _SdkConversation, ask: HostCall, *, may_compact: bool) -> Injection | None:
        """Return what a call carries; `None` where the transcript is to be compacted before it."""
        if self._shared.resume and not scope.parent:
            self._shared.resume = self.attached.resume(scope.id, self._shared.resume)

        def due(conversation: HostSession) -> bool:
            window_known = ask.window.source != "assumed"
            full = conversation.is_compaction_due(ask.window) if window_known else conversation.compaction_requested
            if full:
                conversation.ingest(ask.entries)
            return full

        self.attached.report_usage(scope.id, scope.used, parent=scope.parent)
        try:
            if may_compact and self.attached.with_session(scope.id, due, parent=scope.parent):
                return None
        except (HudkitError, OSError):
            pass  # `place` says it
        return self.attached.prepare_call(scope.id, ask, parent=scope.parent)

    async def _shortened(
        self,
        scope: _SdkConversation,
        agent: Agent[Any],
        items: list[InputItem],
        standing: Sequence[MessageSpan],
        spans: Sequence[MessageSpan],
        window: Window,
    ) -> list[InputItem]:
        """Return the transcript after a compaction."""
        entries = [span.entry for span in standing]

        def begin(conversation: HostSession) -> tuple[int, str]:
            return conversation.tail_start(entries, window), conversation.start_compaction("auto")

        tail_start, ask = await asyncio.to_thread(self.attached.with_session, scope.id, begin, parent=scope.parent)
        start = standing[tail_start].start if tail_start < len(standing) else len(items)
        text = await _ask_for_summary(agent, self._config, items[:start], ask)
        summary, why = await asyncio.to_thread(
            self.attached.with_session, scope.id, lambda session: session.usable_summary(text), parent=scope.parent
        )
        if why:
            _LOG.warning("the summary is the log's own: %s", why)
        cut = _cut_transcript(tail_start, items, standing, summary)
        if self._session is not None and scope is self._root:
            try:
                await _store_compacted(self._session, items, standing, cut, scope.reading)
            except Exception:
                _LOG.exception("session %s is not compacted, this run goes on compacted", scope.id)
        scope.used = None
        scope.compacted = scope.compacted.then(cut, items, spans)
        return [*cut.head, *items[cut.start :]]

    def _asked(self, agent: Agent[Any], instructions: str | None, spans: Sequence[MessageSpan]) -> HostCall:
        entries = [span.entry for span in spans]
        return _host_call(agent, self._config, self._shared.window, entries, instructions, prunes=not self._chained)


# --- Conversations of the Agents SDK, as the runs of one `HudRunner` see them.


_MAX_RESPONSE_IDS = 1_000
"""Responses by whose ids a conversation without a name is known again."""


class _SdkConversation:
    """One conversation of the SDK as its runs see it. `parent` is the host's id of the one that started it."""

    def __init__(self, id: str, parent: str, names: Mapping[str, str]) -> None:
        self.id = id
        self.parent = parent
        self.busy = 0
        """Tools of it that are running now: what is started meanwhile is started by it."""
        self.compacts = False
        self.compacted = _CompactedPrefix()
        self.items: list[InputItem] = []
        """The transcript of the last call, and what was answered."""
        self.used: int | None = None
        """Tokens in the window after the last response."""
        self.reading = TranscriptContext(id, dict(names), {}, {})
        self._untold: ReportedUsage | None = None

    def read(self, items: Sequence[InputItem]) -> list[MessageSpan]:
        """Return the messages of a transcript; what the last response cost is that of the last one."""
        spans = message_spans(items, self.reading)
        if self._untold is None:
            return spans
        last = next((span.entry for span in reversed(spans) if span.entry.message.role == "assistant"), None)
        if last is not None and not last.message.summary:
            self.reading.usage[last.key] = self._untold
        self._untold = None
        return message_spans(items, self.reading)

    def answered(self, response: ModelResponse) -> bool:
        """Take up a response. What ends a run is recorded at once, what goes on with the next call. Never raises."""
        answered = cast(list[InputItem], response.to_input_items())
        self.items = [*self.items, *answered]
        self._untold = _reported_usage(response.usage)
        self.used = self._untold.used if self._untold is not None else None
        return any(str(item.get("type", "")).endswith("_call") for item in answered)

    def is_agent(self, tool: str) -> None:
        """Take down that a tool of this name is a sub-agent."""
        self.reading.names.setdefault(tool, "task")

    def rest(self) -> None:
        """Forget what is in the host's own session."""
        self.items = []
        self.reading.read.clear()
        self.reading.usage.clear()


class RunnerState:
    """What the runs of one `HudRunner` have in common. `offered` are the names of the HUD's tools: an agent without
    them gets no HUD."""

    def __init__(
        self,
        attached: InProcessHud,
        *,
        window: int | Window | None,
        compact: bool,
        names: Mapping[str, str],
        offered: frozenset[str],
        resume: str,
    ) -> None:
        self.attached = attached
        self.window = window
        self.compact = compact
        self.names = names
        self.offered = offered
        self.resume = resume
        self.scopes: dict[str, _SdkConversation] = {}
        self._responses: dict[str, str] = {}

    def scope(self, id: str, parent: str) -> _SdkConversation:
        """Return the conversation with the host's id `id`; `parent` is that of the one that started it."""
        return self.scopes.setdefault(id, _SdkConversation(id, parent, self.names))

    def remember(self, response_id: str, id: str) -> None:
        """Note whose response this is: a conversation that has no name is known by the provider's ids of its
        responses.
        """
        self._responses[response_id] = id
        while len(self._responses) > _MAX_RESPONSE_IDS:
            del self._responses[next(iter(self._responses))]

    def behind(self, response_id: str) -> str:
        """Return the conversation that had this response; nothing where that is not known."""
        return self._responses.get(response_id, "")


RunOptions = RunConfig | dict[str, Any] | None
"""A run configuration, as users give it."""


def config_option(config: RunOptions, name: str) -> Any:
    """Return an option of a run configuration; `None` where it is not given."""
    return config.get(name) if isinstance(config, dict) else getattr(config, name, None)


def _host_call(
    agent: Agent[Any],
    config: RunOptions,
    window: int | Window | None,
    entries: Sequence[HostMessage],
    instructions: str | None,
    *,
    prunes: bool,
) -> HostCall:
    """Return what the HUD is asked for a call; `window` is the user's."""
    model = _model_of(agent, config)
    if not isinstance(window, Window):
        window = window_of(model) if window is None else Window(window, None, None, "user")
    return HostCall(
        entries=entries,
        window=window,
        model=model,
        system=len(instructions or ""),
        tools=_sizes(agent),
        agent=agent.name,
        prunes=prunes,
    )


def _model_of(agent: Agent[Any], config: RunOptions) -> str:
    """Return the name of the model that a call goes to, without those of its providers."""
    over = config_option(config, "model")
    model = over if over is not None else agent.model
    if isinstance(model, Model):
        return str(getattr(model, "model", "")).rpartition("/")[2]
    return (model or get_default_model()).rpartition("/")[2]


def _sizes(agent: Agent[Any]) -> int | None:
    """Return the characters of the tools' definitions; `None` where servers have more of them."""
    if agent.mcp_servers:
        return None
    mine = [tool for tool in agent.tools if isinstance(tool, FunctionTool)]
    return sum(
        len(tool.name) + len(tool.description) + len(msgspec.json.encode(tool.params_json_schema)) for tool in mine
    )


def _reported_usage(usage: Usage) -> ReportedUsage | None:
    """Return the tokens of a response; of its last request where the SDK tried several times."""
    # `usage` is the sum of all tries; the window holds the last one only.
    report: Any = usage.request_usage_entries[-1] if usage.request_usage_entries else usage
    if not report.total_tokens:
        return None
    cached = getattr(report.input_tokens_details, "cached_tokens", 0) or 0
    written = getattr(report.input_tokens_details, "cache_write_tokens", 0) or 0
    return ReportedUsage(
        report.total_tokens,
        max(0, report.input_tokens - cached - written),
        report.output_tokens,
        getattr(report.output_tokens_details, "reasoning_tokens", 0) or 0,
        cached,
        written,
    )


# --- Compaction of a transcript of the Agents SDK: what a model writes down, and what stands for what it read.


_WRITER_NAME = "hud-compaction"
"""The agent that writes a summary; it has no tools and no HUD."""


class _TranscriptCut(NamedTuple):
    """Where a compaction divides a transcript: before the item `start`. `head` stands for what comes before: the
    summary, and the user's last message (the message `last_user`) where the cut took that."""

    start: int
    head: tuple[InputItem, ...]
    last_user: int | None


class _CompactedPrefix(NamedTuple):
    """What stands for the beginning of a transcript since a compaction: `items` for the messages with `keys`."""

    keys: tuple[str, ...] = ()
    items: tuple[InputItem, ...] = ()

    def end(self, spans: Sequence[MessageSpan]) -> int:
        """Return where what was compacted ends in the transcript with the messages `spans`; 0 where it is not its
        beginning.
        """
        here = spans[: len(self.keys)]
        return here[-1].end if here and tuple(span.entry.key for span in here) == self.keys else 0

    def then(
        self, cut: _TranscriptCut, standing: Sequence[InputItem], spans: Sequence[MessageSpan]
    ) -> _CompactedPrefix:
        """Return what stands for the beginning after one more compaction.

        `standing` are the items of the transcript as it stood: those of this prefix, before what is in `spans`.
        """
        past = self.end(spans)
        own = len(self.items) if past else 0
        upto = past + max(0, cut.start - own)
        keys = tuple(span.entry.key for span in spans if span.end <= upto)
        return _CompactedPrefix(keys, (*cut.head, *standing[cut.start : own]))


def _cut_transcript(
    tail_start: int, items: Sequence[InputItem], spans: Sequence[MessageSpan], summary: str
) -> _TranscriptCut:
    """Return the cut before message `tail_start`. The user's last message is never cut off."""
    users = [
        n for n, span in enumerate(spans) if span.entry.role == "user" and not is_summary_question(items[span.start])
    ]
    last_user = users[-1] if users and users[-1] < tail_start else None
    again = items[spans[last_user].start : spans[last_user].end] if last_user is not None else ()
    start = spans[tail_start].start if tail_start < len(spans) else len(items)
    return _TranscriptCut(start, (*summary_items(items, summary), *again), last_user)


def _can_rewrite(session: Session | None) -> bool:
    """Return whether a compaction of ours may be written into a session: not where the provider has it, nor where it
    compacts by itself.
    """
    if session is None:
        return True
    return not isinstance(session, OpenAIConversationsSession) and not is_openai_responses_compaction_aware_session(
        session
    )


async def _ask_for_summary(agent: Agent[Any], config: RunOptions, items: Sequence[InputItem], ask: str) -> str:
    """Return what the agent's own model writes down when it is asked to; nothing where it fails."""
    own = config if isinstance(config, RunConfig) else RunConfig(**(config or {}))
    settings = agent.model_settings.resolve(own.model_settings)
    # The agent that writes has no tools: a model that is made to call one fails without them.
    settings = replace(settings, tool_choice=None, parallel_tool_calls=None)
    model = own.model if own.model is not None else agent.model
    writer: Agent[Any] = Agent(_WRITER_NAME, instructions=SUMMARY_SYSTEM_PROMPT, model=model, model_settings=settings)
    run_config: dict[str, Any] = {"tracing_disabled": own.tracing_disabled, "tracing": own.tracing}
    if isinstance(config, RunConfig) or (config and "model_provider" in config):
        run_config["model_provider"] = own.model_provider
    request = [*map(_without_media, items), {"role": "user", "content": ask}]
    try:
        ended = await Runner.run(writer, cast(list[TResponseInputItem], request), run_config=run_config, max_turns=1)
    except Exception as error:  # a compaction without the model is better than a run that ends
        _LOG.warning("the model wrote no summary: %s", error)
        return ""
    return str(ended.final_output or "")


async def _store_compacted(
    session: Session,
    items: Sequence[InputItem],
    spans: Sequence[MessageSpan],
    cut: _TranscriptCut,
    reading: TranscriptContext,
) -> None:
    """Write a cut into the host's session, as far as that has the messages already; the SDK adds the others."""
    saved = cast(list[InputItem], await session.get_items())
    keys = [span.entry.key for span in message_spans(saved, reading)]
    # The SDK adds to a session when a step has ended, so it may have less than the model was sent. Where it has
    # something else, somebody else has changed it.
    if not keys or keys != [span.entry.key for span in spans[: len(keys)]]:
        if keys:
            _LOG.info("session %s is left as it is: it is not what the model was sent", reading.session_id)
        return
    head = cut.head if cut.last_user is None or cut.last_user < len(keys) else cut.head[:2]
    end = spans[len(keys) - 1].end
    # Shielded: a run that is cancelled between clearing and writing would leave the user without a conversation.
    await asyncio.shield(_rewrite_session(session, [*head, *items[cut.start : end]], saved))


async def _rewrite_session(session: Session, items: list[InputItem], before: list[InputItem]) -> None:
    await session.clear_session()
    try:
        await session.add_items(cast(list[TResponseInputItem], items))
    except Exception:
        await session.add_items(cast(list[TResponseInputItem], before))
        raise


def _without_media(item: InputItem) -> InputItem:
    for name in ("content", "output"):
        parts = item.get(name)
        if isinstance(parts, list) and not all(map(is_text, parts)):
            shown = [part if is_text(part) else _word(part) for part in parts]
            return {**item, name: shown}
    return item


def _word(part: Any) -> InputItem:
    kind = str(part.get("type", "part")) if isinstance(part, dict) else "part"
    return {"type": "input_text", "text": f"[{kind.removeprefix('input_')}]"}


def _new_items_with_frame(
    fresh: Sequence[InputItem], first: int, spans: Sequence[MessageSpan], placing: Injection
) -> list[InputItem]:
    """Return the same where the provider keeps the conversation, and only what is new is sent: the items from `first`
    on of the transcript.

    None of them may change there, so blocks are messages of their own. No tail: it would stay.
    """
    out: list[InputItem] = []
    sent = first
    for n, span in enumerate(spans):
        if span.end <= first:
            continue
        out += fresh[sent - first : span.end - first]
        sent = span.end
        out += [{"role": "user", "content": block} for block in placing.behind.get(n, ())]
    return out


def _with_base(instructions: str | None, base: str) -> str | None:
    """Return the system prompt with the base behind it."""
    return f"{instructions}\n\n{base}" if instructions and base else base or instructions
