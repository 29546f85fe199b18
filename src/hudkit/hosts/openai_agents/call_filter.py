"""The model calls of runs with the Agents SDK: each goes out with the HUD, after a compaction where one is due."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from inspect import isawaitable
from typing import Any, NamedTuple, cast
from uuid import uuid4

import msgspec
from agents import Agent, FunctionTool, ModelResponse
from agents.items import TResponseInputItem
from agents.memory import Session
from agents.run_config import CallModelData, CallModelInputFilter, ModelInputData

from hudkit.errors import HudkitError
from hudkit.hosts.host_session import HostCall, HostSession, Injection
from hudkit.hosts.openai_agents.conversation import (
    RunnerState,
    RunOptions,
    SdkConversation,
    ask_for_summary,
    can_rewrite,
    config_option,
    cut_transcript,
    host_call,
    store_compacted,
)
from hudkit.hosts.openai_agents.input_items import InputItem, MessageSpan, new_items_with_frame, with_base, with_frame
from hudkit.tokens import Window

_LOG = logging.getLogger("hudkit.hosts.openai_agents")


class ActiveCall(NamedTuple):
    """What runs in a context: the calls of a run, the conversation, and a tool call that starts a sub-agent there."""

    calls: CallFilter
    scope: SdkConversation
    call: str = ""


ACTIVE_CALL: ContextVar[ActiveCall | None] = ContextVar("hudkit_openai_agents", default=None)
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
        self._compact = shared.compact and can_rewrite(session) and not chained
        self._root: SdkConversation | None = None

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        given = await self._by_user(data)
        tools = {tool.name for tool in data.agent.tools if isinstance(tool, FunctionTool)}
        if not self._shared.offered <= tools:
            return given
        try:
            return await self._with_hud(self.scope(), data.agent, given)
        except Exception:
            _LOG.exception("a call goes without the HUD")
            return given

    def scope(self) -> SdkConversation:
        """The conversation that a call in this context belongs to: that of the run, or of a sub-agent which a tool of
        it has started with the same filter."""
        now = ACTIVE_CALL.get()
        if now is None or now.calls is not self:
            scope = self._root = self._root or self._opened(now)
        else:
            scope = self._shared.scope(f"{now.scope.id}.{now.call}", now.scope.id) if now.call else now.scope
        ACTIVE_CALL.set(ActiveCall(self, scope))
        return scope

    async def answered(self, scope: SdkConversation, response: ModelResponse) -> None:
        """A response has come. What ends a run is heard at once, what goes on with the next call. Never raises."""
        try:
            calls = scope.answered(response)
            if not calls:
                await asyncio.to_thread(self._heard, scope)
        except Exception:
            _LOG.exception("what was answered is not recorded yet")
            return
        if response.response_id and scope is self._root and not (self._name or self._session):
            self._shared.remember(response.response_id, scope.id)
        if not calls and not self._chained:
            scope.rest()

    def tool(self, scope: SdkConversation, name: str, arguments: str) -> str:
        """What a call of one of the HUD's tools is answered."""
        self.attached.report_usage(scope.id, scope.used, parent=scope.parent)
        return self.attached.tool(scope.id, name, arguments, parent=scope.parent).text

    # -- inside ------------------------------------------------------------------------------------------------

    def _heard(self, scope: SdkConversation) -> None:
        entries = [span.entry for span in scope.read(scope.items)]
        self.attached.report_usage(scope.id, scope.used, parent=scope.parent)
        with suppress(HudkitError, OSError):
            self.attached.with_session(scope.id, lambda one: one.ingest(entries), parent=scope.parent)

    def _opened(self, now: ActiveCall | None) -> SdkConversation:
        started = now.scope.id if now is not None and now.scope.busy else ""
        own = self._session.session_id if self._session is not None else self._name
        return self._shared.scope(own or f"{started}.{uuid4().hex}".removeprefix("."), started)

    async def _by_user(self, data: CallModelData[Any]) -> ModelInputData:
        """What the user's own filter makes of the call."""
        own: CallModelInputFilter | None = config_option(self._config, "call_model_input_filter")
        if own is None or isinstance(own, CallFilter):
            return data.model_data
        filtered = own(data)
        return await filtered if isawaitable(filtered) else filtered

    async def _with_hud(self, scope: SdkConversation, agent: Agent[Any], given: ModelInputData) -> ModelInputData:
        sent = cast(list[InputItem], given.input)
        raw = [*scope.items, *sent] if self._chained else sent
        found = scope.read(raw)
        past = 0 if self._chained else scope.compacted.end(found)
        items = [*scope.compacted.items, *raw[past:]] if past else list(raw)
        standing = scope.read(items) if past else found
        ask = self._asked(agent, given.instructions, standing)
        scope.compacts, scope.busy = self._compact, 0
        placing = await asyncio.to_thread(self._placing, scope, ask, may_compact=self._compact)
        if placing is None:
            items = await self._shortened(scope, agent, items, standing, found, ask.window)
            standing = scope.read(items)
            ask = msgspec.structs.replace(ask, entries=[span.entry for span in standing])
            placing = await asyncio.to_thread(self.attached.prepare_call, scope.id, ask, parent=scope.parent)
        scope.items = items
        out = (
            new_items_with_frame(sent, len(raw) - len(sent), standing, placing)
            if self._chained
            else with_frame(items, standing, placing)
        )
        return ModelInputData(cast(list[TResponseInputItem], out), with_base(given.instructions, placing.base))

    def _placing(self, scope: SdkConversation, ask: HostCall, *, may_compact: bool) -> Injection | None:
        """What a call carries; `None` where the transcript is to be compacted before it."""
        if self._shared.resume and not scope.parent:
            self._shared.resume = self.attached.resume(scope.id, self._shared.resume)

        def due(conversation: HostSession) -> bool:
            known = ask.window.source != "assumed"
            full = conversation.is_compaction_due(ask.window) if known else conversation.compaction_requested
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
        scope: SdkConversation,
        agent: Agent[Any],
        items: list[InputItem],
        found: Sequence[MessageSpan],
        given: Sequence[MessageSpan],
        window: Window,
    ) -> list[InputItem]:
        """The transcript after a compaction."""
        entries = [span.entry for span in found]

        def begin(conversation: HostSession) -> tuple[int, str]:
            return conversation.tail_start(entries, window), conversation.start_compaction("auto")

        at, ask = await asyncio.to_thread(self.attached.with_session, scope.id, begin, parent=scope.parent)
        start = found[at].start if at < len(found) else len(items)
        text = await ask_for_summary(agent, self._config, items[:start], ask)
        summary, why = await asyncio.to_thread(
            self.attached.with_session, scope.id, lambda one: one.usable_summary(text), parent=scope.parent
        )
        if why:
            _LOG.warning("the summary is the log's own: %s", why)
        cut = cut_transcript(at, items, found, summary)
        if self._session is not None and scope is self._root:
            try:
                await store_compacted(self._session, items, found, cut, scope.hearing)
            except Exception:
                _LOG.exception("session %s is not compacted, this run goes on compacted", scope.id)
        scope.used = None
        scope.compacted = scope.compacted.then(cut, items, given)
        return [*cut.head, *items[cut.start :]]

    def _asked(self, agent: Agent[Any], instructions: str | None, found: Sequence[MessageSpan]) -> HostCall:
        entries = [span.entry for span in found]
        return host_call(agent, self._config, self._shared.window, entries, instructions, prunes=not self._chained)
