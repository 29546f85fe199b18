"""Happenings as spans: which are open, what each is under, and when it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from hudkit.agent.telemetry import attributes, content, names
from hudkit.agent.telemetry.happenings import (
    AgentBegan,
    AgentEnded,
    CompactionBegan,
    CompactionEnded,
    Figure,
    Figured,
    FirstPiece,
    Happening,
    ModelAnswered,
    ModelCalled,
    ModelFailed,
    Pruned,
    Retried,
    ToolBegan,
    ToolEnded,
    Usage,
)
from hudkit.agent.telemetry.measures import Measures

CUT_OFF = "interrupted"
"""The error of what was still open when the work around it was over."""


class Spans:
    """The open spans of all sessions. `limit` is the characters of an attribute with content, 0: without content."""

    def __init__(self, tracer: trace.Tracer, measures: Measures, limit: int) -> None:
        self._tracer = tracer
        self._measures = measures
        self._limit = limit
        self._agents: dict[str, _Agent] = {}
        self._takes: Mapping[type[Happening], Callable[[_Agent, Any], None]] = {
            ModelCalled: self._called,
            FirstPiece: self._first,
            Retried: self._retried,
            ModelAnswered: self._answered,
            ModelFailed: self._failed,
            ToolBegan: self._tool_began,
            ToolEnded: self._tool_ended,
            Figured: self._figured,
            CompactionEnded: self._compacted,
            Pruned: self._pruned,
        }

    def take(self, happening: Happening) -> None:
        """Begin, change or end spans. What happens where no agent is at work is left out."""
        agent = self._agents.get(happening.session_id)
        match happening:
            case AgentBegan():
                if agent is not None:
                    self._end(agent, AgentEnded(happening.session_id, happening.at, CUT_OFF, CUT_OFF))
                self._begin(happening)
            case AgentEnded():
                if agent is not None:
                    self._end(agent, happening)
            case CompactionBegan():
                if agent is None:  # nobody is at work: the compaction is the work
                    agent = self._begin(AgentBegan(happening.session_id, happening.at, "compaction"))
                    agent.compacts = True
                agent.trigger = happening.trigger
            case _:
                if agent is not None:
                    self._takes[type(happening)](agent, happening)

    # -- agents ----------------------------------------------------------------------------------------------------

    def _begin(self, began: AgentBegan) -> _Agent:
        above = None
        if began.parent is not None and (parent := self._agents.get(began.parent[0])) is not None:
            above = parent.tools.get(began.parent[1], parent.span)
        found = attributes.of_agent(began)
        span = self._span(f"{names.INVOKE_AGENT} {began.agent}", found, began.at, above)
        agent = self._agents[began.session_id] = _Agent(began, span)
        return agent

    def _end(self, agent: _Agent, ended: AgentEnded) -> None:
        """End an agent's span, and before it those that are open below it."""
        for call_id in list(agent.tools):
            self._tool_ended(agent, ToolEnded(ended.session_id, ended.at, "", call_id, ended.error or CUT_OFF))
        if agent.chat is not None:
            self._failed(agent, ModelFailed(ended.session_id, ended.at, ended.error or CUT_OFF, ended.words))
        found: dict[str, Figure] = {names.ENDED: ended.reason}
        if agent.usage is not None:
            found |= attributes.of_usage(agent.usage)
        if ended.steps:
            found[names.STEPS] = ended.steps
        if agent.cost:
            found[names.COST] = agent.cost
        agent.span.set_attributes(found)
        self._close(agent.span, ended.at, ended.error, ended.words)
        del self._agents[ended.session_id]

    # -- model calls -----------------------------------------------------------------------------------------------

    def _called(self, agent: _Agent, called: ModelCalled) -> None:
        if agent.chat is not None:
            return  # the same call, once more
        found = attributes.of_call(called, agent.trigger)
        if not called.summary:
            found |= agent.figures
            agent.figures = {}
        if self._limit:
            found |= attributes.of_request(called, self._limit)
        _, model = names.provider_and_model(called.model)
        agent.chat = self._span(f"{names.CHAT} {model}", found, called.at, agent.span, SpanKind.CLIENT)
        agent.called, agent.first = called, False
        if agent.compacts:
            agent.span.set_attributes(attributes.of_model(called.model))

    def _first(self, agent: _Agent, first: FirstPiece) -> None:
        if agent.chat is not None and agent.called is not None and not agent.first:
            agent.first = True
            agent.chat.set_attribute(names.FIRST_CHUNK, (first.at - agent.called.at) / 1000)

    def _retried(self, agent: _Agent, retried: Retried) -> None:
        agent.first = False
        found = {names.RETRY_ATTEMPT: retried.attempt, names.RETRY_DELAY: retried.seconds}
        self._event(
            agent.chat or agent.span, names.RETRY_EVENT, retried.at, found | {names.ERROR_TYPE: retried.error}
        )

    def _answered(self, agent: _Agent, answered: ModelAnswered) -> None:
        if agent.chat is None or agent.called is None:
            return
        agent.chat.set_attributes(attributes.of_answer(answered))
        if self._limit and answered.answer is not None:
            said = content.answer(answered.answer, attributes.finish(answered.reason), self._limit)
            agent.chat.set_attribute(names.OUTPUT_MESSAGES, said)
        agent.cost += answered.cost or 0.0
        measured = attributes.of_metrics(agent.called, answered.model)
        if answered.usage is not None:
            agent.usage = attributes.added(agent.usage or Usage(0, 0, 0, 0), answered.usage)
            self._measures.tokens(answered.usage.input, answered.usage.output, measured)
        self._measures.duration(answered.at - agent.called.at, measured)
        self._close(agent.chat, answered.at)
        agent.chat = None

    def _failed(self, agent: _Agent, failed: ModelFailed) -> None:
        if agent.chat is None or agent.called is None:
            return
        measured = attributes.of_metrics(agent.called) | {names.ERROR_TYPE: failed.error}
        self._measures.duration(failed.at - agent.called.at, measured)
        self._close(agent.chat, failed.at, failed.error, failed.words)
        agent.chat = None

    # -- tools -----------------------------------------------------------------------------------------------------

    def _tool_began(self, agent: _Agent, began: ToolBegan) -> None:
        found = attributes.of_tool(began, agent.began.agent)
        if self._limit:
            found[names.TOOL_ARGUMENTS] = content.arguments(began.arguments, self._limit)
        agent.tools[began.call_id] = self._span(f"{names.EXECUTE_TOOL} {began.tool}", found, began.at, agent.span)

    def _tool_ended(self, agent: _Agent, ended: ToolEnded) -> None:
        if ended.call_id not in agent.tools:  # refused: it never ran
            began = ToolBegan(ended.session_id, ended.at, ended.tool, ended.call_id, ended.arguments)
            self._tool_began(agent, began)
        for session_id, other in list(self._agents.items()):
            if other.began.parent == (ended.session_id, ended.call_id):
                error = ended.error or CUT_OFF
                self._end(other, AgentEnded(session_id, ended.at, error, error))
        span = agent.tools.pop(ended.call_id)
        if self._limit and not ended.error:
            span.set_attribute(names.TOOL_RESULT, content.words(ended.text, self._limit))
        self._close(span, ended.at, ended.error, ended.text if ended.error else "")

    # -- the window ------------------------------------------------------------------------------------------------

    def _figured(self, agent: _Agent, figured: Figured) -> None:
        agent.figures = {**agent.figures, **figured.figures}

    def _compacted(self, agent: _Agent, ended: CompactionEnded) -> None:
        author = "model" if ended.by_model else "records"
        found = {names.COMPACTION_TRIGGER: agent.trigger, names.COMPACTION_AUTHOR: author}
        self._event(agent.span, names.COMPACTION_EVENT, ended.at, found)
        if agent.compacts:
            self._end(agent, AgentEnded(ended.session_id, ended.at, "done"))

    def _pruned(self, agent: _Agent, pruned: Pruned) -> None:
        self._event(agent.span, names.PRUNING_EVENT, pruned.at, {names.PRUNED_CALLS: pruned.calls})

    # -- OpenTelemetry ---------------------------------------------------------------------------------------------

    def _span(
        self,
        name: str,
        found: Mapping[str, Figure],
        at: int,
        above: Span | None,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Span:
        """A new span; with nothing above it, it is under the span that the program is in, if there is one."""
        where = trace.set_span_in_context(above) if above is not None else None
        return self._tracer.start_span(name, where, kind, attributes=found, start_time=at * 1_000_000)

    def _event(self, span: Span, name: str, at: int, found: Mapping[str, Figure]) -> None:
        span.add_event(name, found, at * 1_000_000)

    def _close(self, span: Span, at: int, error: str = "", words: str = "") -> None:
        if error:
            span.set_attribute(names.ERROR_TYPE, error)
            said = content.words(words, self._limit) if self._limit and words else None
            span.set_status(Status(StatusCode.ERROR, said))
        span.end(at * 1_000_000)


class _Agent:
    """An agent at work: its span, and what is open below it."""

    def __init__(self, began: AgentBegan, span: Span) -> None:
        self.began = began
        self.span = span
        self.chat: Span | None = None
        self.called: ModelCalled | None = None
        self.first = False
        self.tools: dict[str, Span] = {}
        self.usage: Usage | None = None
        self.cost = 0.0
        self.figures: dict[str, Figure] = {}
        self.trigger = ""
        self.compacts = False
