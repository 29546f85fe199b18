"""Observations as spans and metrics: which spans are open, what each is under, and when it ends.

    invoke_agent build                 AgentBegan … AgentEnded
      chat gpt-5                       ModelCalled … ModelAnswered or ModelFailed
      execute_tool task                ToolBegan … ToolEnded
        invoke_agent general           a sub-agent, under the call that it works for

Observations may be missing (a process was killed, a call never ran): what is still open is ended with the span above
it, with the error `interrupted`, since a span that nobody ends is never exported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opentelemetry import trace
from opentelemetry.metrics import Meter
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from hudkit.agent.telemetry import content, names
from hudkit.agent.telemetry.observations import (
    AgentBegan,
    AgentEnded,
    AttributeValue,
    CallFigures,
    CompactionBegan,
    CompactionEnded,
    FirstChunk,
    ModelAnswered,
    ModelCalled,
    ModelFailed,
    ModelRetry,
    Observation,
    ObservedUsage,
    OutputsLeft,
    ToolBegan,
    ToolEnded,
)

_INTERRUPTED = "interrupted"
"""The error of what was still open when the work around it was over."""

_NS_PER_MS = 1_000_000  # OpenTelemetry counts in nanoseconds

_Attributes = dict[str, AttributeValue]


class Spans:
    """The open spans of all sessions. `limit` is the characters of an attribute with content, 0: without content."""

    def __init__(self, tracer: trace.Tracer, meter: Meter, limit: int) -> None:
        self._tracer = tracer
        self._histograms = _Histograms(meter)
        self._limit = limit
        self._agents: dict[str, _Agent] = {}
        self._handlers: Mapping[type[Observation], Callable[[_Agent, Any], None]] = {
            ModelCalled: self._begin_call,
            FirstChunk: self._note_first_chunk,
            ModelRetry: self._note_retry,
            ModelAnswered: self._end_call,
            ModelFailed: self._fail_call,
            ToolBegan: self._begin_tool,
            ToolEnded: self._end_tool,
            CallFigures: self._note_figures,
            CompactionEnded: self._note_compaction,
            OutputsLeft: self._note_pruning,
        }

    def take(self, observation: Observation) -> None:
        """Begin, change or end spans, and return nothing. What happens where no agent is at work is left out."""
        agent = self._agents.get(observation.session_id)
        match observation:
            case AgentBegan():
                if agent is not None:
                    self._end_agent(
                        agent, AgentEnded(observation.session_id, observation.timestamp, _INTERRUPTED, _INTERRUPTED)
                    )
                self._begin_agent(observation)
            case AgentEnded():
                if agent is not None:
                    self._end_agent(agent, observation)
            case CompactionBegan():
                if agent is None:  # nobody is at work: the compaction is the work
                    agent = self._begin_agent(AgentBegan(observation.session_id, observation.timestamp, "compaction"))
                    agent.is_compaction = True
                agent.trigger = observation.trigger
            case _:
                if agent is not None:
                    self._handlers[type(observation)](agent, observation)

    # -- agents ----------------------------------------------------------------------------------------------------

    def _begin_agent(self, began: AgentBegan) -> _Agent:
        above = None
        if began.parent is not None and (parent := self._agents.get(began.parent[0])) is not None:
            above = parent.tools.get(began.parent[1], parent.span)
        attributes = _agent_attributes(began)
        span = self._start_span(f"{names.INVOKE_AGENT} {began.agent}", attributes, began.timestamp, above)
        agent = self._agents[began.session_id] = _Agent(began, span)
        return agent

    def _end_agent(self, agent: _Agent, ended: AgentEnded) -> None:
        """End an agent's span, and before it those that are open below it."""
        for call_id in list(agent.tools):
            self._end_tool(
                agent, ToolEnded(ended.session_id, ended.timestamp, "", call_id, ended.error or _INTERRUPTED)
            )
        if agent.chat is not None:
            self._fail_call(
                agent, ModelFailed(ended.session_id, ended.timestamp, ended.error or _INTERRUPTED, ended.words)
            )
        attributes: _Attributes = {names.ENDED: ended.reason}
        if agent.usage is not None:
            attributes |= _usage_attributes(agent.usage)
        if ended.steps:
            attributes[names.STEPS] = ended.steps
        if agent.cost:
            attributes[names.COST] = agent.cost
        agent.span.set_attributes(attributes)
        self._end_span(agent.span, ended.timestamp, ended.error, ended.words)
        del self._agents[ended.session_id]

    # -- model calls -----------------------------------------------------------------------------------------------

    def _begin_call(self, agent: _Agent, called: ModelCalled) -> None:
        if agent.chat is not None:
            return  # the same call, sent again after a `ModelRetry`
        attributes = _call_attributes(called, agent.trigger)
        if not called.summary:
            attributes |= agent.figures
            agent.figures = {}
        if self._limit:
            attributes |= _request_attributes(called, self._limit)
        _, model = names.provider_and_model(called.model)
        agent.chat = self._start_span(
            f"{names.CHAT} {model}", attributes, called.timestamp, agent.span, SpanKind.CLIENT
        )
        agent.called, agent.has_first_chunk = called, False
        if agent.is_compaction:
            agent.span.set_attributes(_model_attributes(called.model))

    def _note_first_chunk(self, agent: _Agent, chunk: FirstChunk) -> None:
        if agent.chat is not None and agent.called is not None and not agent.has_first_chunk:
            agent.has_first_chunk = True
            agent.chat.set_attribute(names.FIRST_CHUNK, (chunk.timestamp - agent.called.timestamp) / 1000)

    def _note_retry(self, agent: _Agent, retry: ModelRetry) -> None:
        agent.has_first_chunk = False
        attributes = {names.RETRY_ATTEMPT: retry.attempt, names.RETRY_DELAY: retry.seconds}
        self._add_event(
            agent.chat or agent.span, names.RETRY_EVENT, retry.timestamp, attributes | {names.ERROR_TYPE: retry.error}
        )

    def _end_call(self, agent: _Agent, answered: ModelAnswered) -> None:
        if agent.chat is None or agent.called is None:
            return
        agent.chat.set_attributes(_answer_attributes(answered))
        if self._limit and answered.answer is not None:
            text = content.answer(answered.answer, _finish(answered.reason), self._limit)
            agent.chat.set_attribute(names.OUTPUT_MESSAGES, text)
        agent.cost += answered.cost or 0.0
        measured = _metric_attributes(agent.called, answered.model)
        if answered.usage is not None:
            agent.usage = _usage_sum(agent.usage or ObservedUsage(0, 0, 0, 0), answered.usage)
            self._histograms.tokens(answered.usage.input, answered.usage.output, measured)
        self._histograms.duration(answered.timestamp - agent.called.timestamp, measured)
        self._end_span(agent.chat, answered.timestamp)
        agent.chat = None

    def _fail_call(self, agent: _Agent, failed: ModelFailed) -> None:
        if agent.chat is None or agent.called is None:
            return
        measured = _metric_attributes(agent.called) | {names.ERROR_TYPE: failed.error}
        self._histograms.duration(failed.timestamp - agent.called.timestamp, measured)
        self._end_span(agent.chat, failed.timestamp, failed.error, failed.words)
        agent.chat = None

    # -- tools -----------------------------------------------------------------------------------------------------

    def _begin_tool(self, agent: _Agent, began: ToolBegan) -> None:
        attributes = _tool_attributes(began, agent.began.agent)
        if self._limit:
            attributes[names.TOOL_ARGUMENTS] = content.arguments(began.arguments, self._limit)
        agent.tools[began.call_id] = self._start_span(
            f"{names.EXECUTE_TOOL} {began.tool}", attributes, began.timestamp, agent.span
        )

    def _end_tool(self, agent: _Agent, ended: ToolEnded) -> None:
        if ended.call_id not in agent.tools:  # refused: it never ran
            began = ToolBegan(ended.session_id, ended.timestamp, ended.tool, ended.call_id, ended.arguments)
            self._begin_tool(agent, began)
        for session_id, other in list(self._agents.items()):
            # behind a call that did not fail it works on in the background
            if ended.error and other.began.parent == (ended.session_id, ended.call_id):
                self._end_agent(other, AgentEnded(session_id, ended.timestamp, ended.error, ended.error))
        span = agent.tools.pop(ended.call_id)
        if self._limit and not ended.error:
            span.set_attribute(names.TOOL_RESULT, content.words(ended.text, self._limit))
        self._end_span(span, ended.timestamp, ended.error, ended.text if ended.error else "")

    # -- the window ------------------------------------------------------------------------------------------------

    def _note_figures(self, agent: _Agent, reported: CallFigures) -> None:
        agent.figures = {**agent.figures, **reported.figures}

    def _note_compaction(self, agent: _Agent, ended: CompactionEnded) -> None:
        author = "model" if ended.by_model else "records"
        attributes = {names.COMPACTION_TRIGGER: agent.trigger, names.COMPACTION_AUTHOR: author}
        self._add_event(agent.span, names.COMPACTION_EVENT, ended.timestamp, attributes)
        if agent.is_compaction:
            self._end_agent(agent, AgentEnded(ended.session_id, ended.timestamp, "done"))

    def _note_pruning(self, agent: _Agent, left: OutputsLeft) -> None:
        self._add_event(agent.span, names.PRUNING_EVENT, left.timestamp, {names.PRUNED_CALLS: left.calls})

    # -- OpenTelemetry ---------------------------------------------------------------------------------------------

    def _start_span(
        self,
        name: str,
        attributes: Mapping[str, AttributeValue],
        timestamp: int,
        above: Span | None,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Span:
        """Start a span; with nothing above it, it is under the span that the program is in, if there is one."""
        where = trace.set_span_in_context(above) if above is not None else None
        return self._tracer.start_span(name, where, kind, attributes=attributes, start_time=timestamp * _NS_PER_MS)

    def _add_event(self, span: Span, name: str, timestamp: int, attributes: Mapping[str, AttributeValue]) -> None:
        span.add_event(name, attributes, timestamp * _NS_PER_MS)

    def _end_span(self, span: Span, timestamp: int, error: str = "", words: str = "") -> None:
        if error:
            span.set_attribute(names.ERROR_TYPE, error)
            text = content.words(words, self._limit) if self._limit and words else None
            span.set_status(Status(StatusCode.ERROR, text))
        span.end(timestamp * _NS_PER_MS)


class _Agent:
    """An agent at work: its span, and what is open below it."""

    def __init__(self, began: AgentBegan, span: Span) -> None:
        self.began = began
        self.span = span
        self.chat: Span | None = None
        self.called: ModelCalled | None = None
        self.has_first_chunk = False
        self.tools: dict[str, Span] = {}
        self.usage: ObservedUsage | None = None
        self.cost = 0.0
        self.figures: dict[str, AttributeValue] = {}
        self.trigger = ""
        self.is_compaction = False


# -- attributes, under the names of the conventions ------------------------------------------------------------


def _agent_attributes(began: AgentBegan) -> _Attributes:
    attributes: _Attributes = {
        names.OPERATION: names.INVOKE_AGENT,
        names.CONVERSATION: began.session_id,
        names.AGENT: began.agent,
    }
    return attributes | _model_attributes(began.model)


def _model_attributes(name: str) -> _Attributes:
    """Return the provider and the model of a name such as `openai:gpt-5`; nothing for an empty one."""
    if not name:
        return {}
    provider, model = names.provider_and_model(name)
    return {names.PROVIDER: provider, names.REQUEST_MODEL: model}


def _call_attributes(called: ModelCalled, trigger: str) -> _Attributes:
    """Return what is known of a model call before it goes out. `trigger` is why a summary is asked for."""
    attributes: _Attributes = {names.OPERATION: names.CHAT, names.CONVERSATION: called.session_id}
    attributes[names.AGENT], attributes[names.REQUEST_STREAM] = called.agent, True
    attributes |= _model_attributes(called.model)
    optional: Mapping[str, AttributeValue | None] = {
        names.REQUEST_MAX_TOKENS: called.max_tokens,
        names.REQUEST_TEMPERATURE: called.temperature,
        names.REQUEST_TOP_P: called.top_p,
        names.WINDOW_LIMIT: called.limit or None,
        names.COMPACTION_TRIGGER: trigger if called.summary else None,
    }
    return attributes | {name: value for name, value in optional.items() if value is not None}


def _request_attributes(called: ModelCalled, limit: int) -> _Attributes:
    """Return what a request says, in at most `limit` characters an attribute."""
    text, omitted = content.messages(called.messages, limit)
    attributes: _Attributes = {names.INPUT_MESSAGES: text}
    if called.system:
        attributes[names.SYSTEM_INSTRUCTIONS] = content.instructions(called.system, limit)
    if omitted:
        attributes[names.OMITTED] = omitted
    return attributes


def _answer_attributes(answered: ModelAnswered) -> _Attributes:
    attributes: _Attributes = {names.FINISH_REASONS: (_finish(answered.reason),)}
    if answered.usage is not None:
        attributes |= _usage_attributes(answered.usage)
        attributes[names.WINDOW_USED] = answered.usage.input + answered.usage.output
    optional = {names.COST: answered.cost, names.RESPONSE_MODEL: answered.model, names.RESPONSE_ID: answered.id}
    return attributes | {name: value for name, value in optional.items() if value}


def _usage_attributes(usage: ObservedUsage) -> _Attributes:
    """Return the tokens of a call; the input is with the cached ones, as the conventions ask for."""
    attributes: _Attributes = {
        names.INPUT_TOKENS: usage.input,
        names.OUTPUT_TOKENS: usage.output,
        names.CACHE_READ: usage.read,
        names.CACHE_CREATION: usage.written,
    }
    return attributes | ({names.REASONING_TOKENS: usage.reasoning} if usage.reasoning else {})


def _tool_attributes(tool: ToolBegan | ToolEnded, agent: str) -> _Attributes:
    return {
        names.OPERATION: names.EXECUTE_TOOL,
        names.CONVERSATION: tool.session_id,
        names.AGENT: agent,
        names.TOOL: tool.tool,
        names.TOOL_CALL: tool.call_id,
        names.TOOL_TYPE: "function",
    }


def _metric_attributes(called: ModelCalled, response_model: str = "") -> _Attributes:
    """Return the attributes of a measurement: of few values each, for each combination is a series of its own."""
    attributes: _Attributes = {names.OPERATION: names.CHAT} | _model_attributes(called.model)
    return attributes | ({names.RESPONSE_MODEL: response_model} if response_model else {})


def _finish(reason: str) -> str:
    return names.FINISHES.get(reason, reason)


def _usage_sum(first: ObservedUsage, second: ObservedUsage) -> ObservedUsage:
    return ObservedUsage(
        first.fresh + second.fresh,
        first.read + second.read,
        first.written + second.written,
        first.output + second.output,
        first.reasoning + second.reasoning,
    )


# -- metrics ---------------------------------------------------------------------------------------------------


class _Histograms:
    """Tokens and seconds of model calls, with the buckets of the conventions."""

    def __init__(self, meter: Meter) -> None:
        self._tokens = meter.create_histogram(
            names.TOKEN_USAGE,
            "{token}",
            "Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=names.TOKEN_BUCKETS,
        )
        self._seconds = meter.create_histogram(
            names.DURATION,
            "s",
            "GenAI operation duration.",
            explicit_bucket_boundaries_advisory=names.SECOND_BUCKETS,
        )

    def tokens(self, sent: int, answered: int, attributes: Mapping[str, AttributeValue]) -> None:
        for kind, number in (("input", sent), ("output", answered)):
            self._tokens.record(number, {**attributes, names.TOKEN_TYPE: kind})

    def duration(self, milliseconds: int, attributes: Mapping[str, AttributeValue]) -> None:
        self._seconds.record(max(0, milliseconds) / 1000, attributes)
