"""What every model call of an agent or a graph goes through: its session, a compaction where due, its frame."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple
from uuid import uuid4

from langchain.agents.middleware.internal_call_transformer import internal_call_metadata
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage
from langchain_core.messages.utils import get_buffer_string
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.constants import TAG_NOSTREAM
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from hudkit.context.compaction.cut_point import cut_text, max_text_characters
from hudkit.context.compaction.request_parts import HANDED_OVER_CHARACTERS
from hudkit.context.compaction.summaries import SUMMARY_SYSTEM_PROMPT
from hudkit.errors import HudkitError
from hudkit.hosts.host_session import COMPACTION_TOOL_NAMES, HostCall, HostMessage, HostSession
from hudkit.hosts.in_process import InProcessHud
from hudkit.hosts.langchain.langchain_messages import (
    METADATA_KEY,
    SHORTENED_MARK,
    SUMMARY_MARK,
    ReadMessages,
    finish_reason,
    is_summary,
    message_size,
    read_messages,
    tokens_after,
    with_base,
    with_frame,
)
from hudkit.tokens import Window, window_of
from hudkit.tokens.model_facts import OverflowRule
from hudkit.tools import RouterReply

_LOG = logging.getLogger("hudkit.hosts.langchain")

_COMPACTED_ELSEWHERE = "Not compacted: the messages of this agent are kept and shortened by something else."


class ModelCall(NamedTuple):
    """A model call as its host would make it: `state` are the messages as they are kept, `messages` as they are
    sent, `tools` what the model is offered."""

    line: SessionLineage
    model: Any
    messages: Sequence[AnyMessage]
    system: SystemMessage | None
    tools: Sequence[Any]
    state: Sequence[AnyMessage]


class ModelCallPipeline:
    """The model calls of all sessions of one middleware. Nothing here raises into a call: then it goes as it was."""

    def __init__(
        self, attached: InProcessHud, *, window: int | None, names: Mapping[str, str], compacts: bool, resume: str
    ) -> None:
        self.attached = attached
        self._window = window
        self._names = names
        self._compacts = compacts
        self._resume = resume
        self._offered = _ToolSizes()
        self._made: dict[str, FinishedCompaction] = {}
        self._known: set[str] = set()
        self._elsewhere: set[str] = set()

    def due(self, call: ModelCall) -> _CompactionPlan | FinishedCompaction | None:
        """Return the compaction that comes before the call: to be made, or made already and lost by its host."""
        if not self._compacts:
            return None
        line = call.line
        try:
            if not _same(call):
                self._elsewhere.add(line.session)
                return None
            self._elsewhere.discard(line.session)
            # A call that failed behind a compaction comes again with the messages from before it: LangChain keeps a
            # state only of steps that ended.
            before = self._made.pop(line.session, None)
            if before is not None and before.of(call.messages):
                self._made[line.session] = before
                return before
            window = model_window(call.model, self._window)
            # In a process that knows nothing of the session, only the messages say how full the window is: they are
            # read first.
            new = line.session not in self._known
            return self.attached.with_session(
                line.session,
                lambda talk: _plan_compaction(talk, lambda: self._read(call), call.messages, window, new=new),
                parent=line.parent,
            )
        except (HudkitError, OSError) as error:
            _LOG.warning("a compaction is left out: %s", error)
        except Exception:
            _LOG.exception("a compaction is left out")
        return None

    def made(self, call: ModelCall, plan: _CompactionPlan, answer: AIMessage | None) -> FinishedCompaction | None:
        """Return the compaction, with a model's summary, or without one."""
        line = call.line
        try:
            done = self.attached.with_session(
                line.session,
                lambda talk: _finish_compaction(talk, plan, answer),
                parent=line.parent,
            )
        except (HudkitError, OSError) as error:
            _LOG.warning("a compaction is left out: %s", error)
            return None
        self._made[line.session] = done
        return done

    def place(self, call: ModelCall) -> ModelCall:
        """Return the call with the HUD in it."""
        line = call.line
        try:
            self._known.add(line.session)
            if self._resume and not line.parent:
                self._resume = self.attached.resume(line.session, self._resume)
            read = self._read(call)
            asked = HostCall(
                entries=read.entries,
                window=model_window(call.model, self._window),
                model=_model_name(call.model),
                system=message_size(call.system) if call.system is not None else 0,
                tools=self._offered.size(call.tools),
                agent=line.agent,
                prunes=True,
                # What other middleware leaves away for one call is not taken back: what is kept tells.
                history=None if _same(call) else self._entries(call._replace(messages=call.state)),
            )
            placing = self.attached.prepare_call(line.session, asked, parent=line.parent)
            return call._replace(
                messages=with_frame(call.messages, read.spans, placing), system=with_base(call.system, placing.base)
            )
        except Exception:
            _LOG.exception("a call goes without the HUD")
            return call

    def answered(self, line: SessionLineage, response: Sequence[BaseMessage]) -> None:
        """Note what the model has answered."""
        self.attached.report_usage(line.session, tokens_after(response), parent=line.parent)

    def tool(self, line: SessionLineage, name: str, arguments: Mapping[str, object] | str) -> RouterReply:
        """Answer a call of one of the HUD's tools and return the answer."""
        if not line.session:
            return RouterReply("not recorded: this call belongs to no thread", False)
        if name in COMPACTION_TOOL_NAMES and line.session in self._elsewhere:
            return RouterReply(_COMPACTED_ELSEWHERE, False)
        return self.attached.tool(line.session, name, arguments, parent=line.parent)

    def _entries(self, call: ModelCall) -> Sequence[HostMessage]:
        return self._read(call).entries

    def _read(self, call: ModelCall) -> ReadMessages:
        return read_messages(call.messages, self._names, by_id=call.line.checkpointed)


def _same(call: ModelCall) -> bool:
    """Return whether what is sent is what is kept: else something else leaves messages out, and a compaction of ours
    would take from it what it counts on.

    What LangChain adds for calls that it could not read has no id yet.
    """
    return [message.id for message in call.messages if message.id] == [message.id for message in call.state]


# --- The call for a summary, where a compaction is due, and the model call that goes on after it.


def compact_if_due(calls: ModelCallPipeline, call: ModelCall) -> tuple[FinishedCompaction | None, ModelCall]:
    """Return the compaction, if one was due, and the call after it.

    A model that fails is asked once more, with less.
    """
    due = calls.due(call)
    if isinstance(due, _CompactionPlan):
        answer = None
        for question in due.questions():
            try:
                answer = _said(_unwrap_model(call.model).invoke(question, SUMMARY_CALL_CONFIG))
                break
            except Exception as error:
                _LOG.warning("no summary from the model: %s", error)
        due = calls.made(call, due, answer)
    return _after(due, call)


async def acompact_if_due(calls: ModelCallPipeline, call: ModelCall) -> tuple[FinishedCompaction | None, ModelCall]:
    """Do what `compact_if_due` does, and return the same, with the log's work off the event loop."""
    due = await asyncio.to_thread(calls.due, call)
    if isinstance(due, _CompactionPlan):
        answer = None
        for question in due.questions():
            try:
                answer = _said(await _unwrap_model(call.model).ainvoke(question, SUMMARY_CALL_CONFIG))
                break
            except Exception as error:
                _LOG.warning("no summary from the model: %s", error)
        due = await asyncio.to_thread(calls.made, call, due, answer)
    return _after(due, call)


def _after(due: FinishedCompaction | None, call: ModelCall) -> tuple[FinishedCompaction | None, ModelCall]:
    return due, call if due is None else call._replace(messages=due.applied(call.messages))


def _said(answer: Any) -> AIMessage | None:
    return answer if isinstance(answer, AIMessage) else None


# --- A compaction of an agent's messages: when, what a model is asked, and what the messages become.


_SUMMARY_INTRO = "Here is a summary of the conversation up to now:"
_WORK_HAS_BEGUN = (
    "Work on the user's last message, which follows, has begun: go on where it stopped. If it is done, say so."
)
SUMMARY_CALL_CONFIG: RunnableConfig = {
    "tags": [TAG_NOSTREAM],
    "metadata": {"lc_source": "summarization", **internal_call_metadata()},
}
"""How the call for a summary is known, and kept out of what the agent's user reads as it comes."""


class _CompactionPlan(NamedTuple):
    """A compaction to be made: what stands at `shown[cut:]` stays. `prompt` is what a model is asked for."""

    shown: Sequence[AnyMessage]
    cut: int
    prompt: str
    most: int

    def questions(self) -> list[list[BaseMessage]]:
        """Return what the model is asked, and what it is asked where that is too long."""
        old = self.shown[: self.cut]
        return [
            [SystemMessage(SUMMARY_SYSTEM_PROMPT), HumanMessage(_told(some, self.prompt))]
            for some in (old, _shorter(old))
        ]


class FinishedCompaction(NamedTuple):
    """A compaction that was made: the ids of the messages that were there, and what stands for those up to `cut`."""

    ids: tuple[str | None, ...]
    cut: int
    stands: tuple[AnyMessage, ...]

    def of(self, messages: Sequence[AnyMessage]) -> bool:
        """Return whether the messages are those that it was made of, with nothing but later ones behind them: a call
        that failed is made again, with what was written once.
        """
        return tuple(message.id for message in messages[: len(self.ids)]) == self.ids

    def applied(self, messages: Sequence[AnyMessage]) -> list[AnyMessage]:
        """Return the messages of a request after it."""
        return [*self.stands, *messages[self.cut :]]

    def update(self, shown: Sequence[AnyMessage], state: Sequence[AnyMessage]) -> list[Any]:
        """Return what makes the agent's state the same: the messages that stay are those of the `state`."""
        by_id = {message.id: message for message in state if message.id}
        return [
            RemoveMessage(REMOVE_ALL_MESSAGES),
            *(by_id.get(message.id or "", message) for message in self.applied(shown)),
        ]


def _plan_compaction(
    talk: HostSession, reads: Callable[[], ReadMessages], shown: Sequence[AnyMessage], window: Window, *, new: bool
) -> _CompactionPlan | None:
    """Return the compaction that is due before a call, if one is; `reads` gives what is `shown` as entries, `new`:
    this process knows nothing of the session yet.
    """
    if not new and not talk.is_compaction_due(window):
        return None
    read = reads()
    # A summary of somebody else's may be new; and what is about to leave the window has to be kept first.
    talk.ingest(read.entries)
    if not talk.is_compaction_due(window):
        return None
    tail_start = talk.tail_start(read.entries, window)
    cut = read.spans[tail_start][0] if tail_start < len(read.spans) else len(shown)
    rule = OverflowRule(reserved=talk.session.settings.overflow.reserved_tokens)
    most = max_text_characters(window, rule)
    # Only the user's own short words are before the cut: a summary would be longer than what it stands for.
    if not any(isinstance(message, AIMessage) or len(str(message.text)) > most for message in shown[:cut]):
        talk.compaction_requested = False
        return None
    return _CompactionPlan(shown, cut, talk.start_compaction("auto"), most)


def _finish_compaction(talk: HostSession, plan: _CompactionPlan, answer: AIMessage | None) -> FinishedCompaction:
    """Return the compaction, with the model's summary, or the log's own where it gave none."""
    text, finish = (str(answer.text), finish_reason(answer)) if answer is not None else ("", "")
    summary, why = talk.usable_summary(text, finish)
    if why:
        _LOG.warning("the summary is made without a model: %s", why)
    old, tail = plan.shown[: plan.cut], plan.shown[plan.cut :]
    asked = next((message for message in reversed(plan.shown) if _is_asked(message)), None)
    # What the user asked for last stays word for word: a summary says what was done, not what was wanted.
    replayed = [_short(asked, plan.most)] if asked is not None and asked not in tail else []
    under_way = bool(replayed) and any(
        isinstance(message, AIMessage) for message in plan.shown[plan.shown.index(asked) :]
    )
    content = "\n\n".join([_SUMMARY_INTRO, summary, *([_WORK_HAS_BEGUN] if under_way else [])])
    marks = {"lc_source": "summarization", METADATA_KEY: {SUMMARY_MARK: summary}}
    head = HumanMessage(content, id=str(uuid4()), additional_kwargs=marks)
    return FinishedCompaction(tuple(message.id for message in plan.shown), len(old), (head, *replayed))


def _is_asked(message: BaseMessage) -> bool:
    return isinstance(message, HumanMessage) and not is_summary(message)


def _told(messages: Sequence[BaseMessage], prompt: str) -> str:
    """Return the conversation as text: a model that is offered no tools refuses messages with calls, at some
    providers.
    """
    return f"<conversation>\n{get_buffer_string(messages, format='xml')}\n</conversation>\n\n{prompt}"


def _shorter(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    out: list[AnyMessage] = []
    for message in messages:
        if isinstance(message, AIMessage) and message.tool_calls:
            calls = [{**call, "args": _short_args(call["args"])} for call in message.tool_calls]
            message = message.model_copy(update={"tool_calls": calls})
        out.append(message if is_summary(message) else _cut(message, HANDED_OVER_CHARACTERS))
    return out


def _short_args(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: cut_text(value, HANDED_OVER_CHARACTERS) if isinstance(value, str) else value
        for name, value in arguments.items()
    }


def _short(message: AnyMessage, most: int) -> AnyMessage:
    """Return a user's message that stays, cut where it would fill the window again."""
    if len(str(message.text)) <= most:
        return message
    marks = {**message.additional_kwargs, METADATA_KEY: SHORTENED_MARK}
    return _cut(message, most).model_copy(update={"additional_kwargs": marks})


def _cut(message: AnyMessage, most: int) -> AnyMessage:
    text = str(message.text)
    return message if len(text) <= most else message.model_copy(update={"content": cut_text(text, most)})


# --- Whose call it is: the session of a model or tool call, by its thread, its run, or the tool call around it.


STATE_KEY = "hud_session"
"""The channel of an agent's state that holds the session of a run without a thread."""


class SessionLineage(NamedTuple):
    """The host's id of a call's `session`, and of the `parent` session whose tool call it runs within.

    `checkpointed`: a checkpointer keeps the messages, so that their ids are the same in the next run. `fresh`: the
    session was just made for this run, and is noted nowhere yet. `session` is empty where nothing tells one.
    """

    session: str
    parent: str = ""
    checkpointed: bool = False
    fresh: bool = False
    agent: str = ""


class _Running(NamedTuple):
    """A tool call that is being carried out: its session, the place of its task, and its id."""

    line: SessionLineage
    thread: str
    place: str
    call: str


_RUNNING: ContextVar[_Running | None] = ContextVar("hudkit_langchain_tool_call", default=None)
"""It goes where the call goes: into the threads and tasks of the graphs that the tool runs."""


def lineage_of_call(config: RunnableConfig, state: object = None, *, makes: bool = False) -> SessionLineage:
    """Return the session of a model call.

    Within a tool call of a session with the HUD it is a sub-agent's: its own thread where it was given another one,
    else one for each tool call. Without thread and parent, it is that of the run, as `state` has it; a new one where
    `makes` allows it.
    """
    thread, place, checkpointed, agent = _read_config(config)
    running = _RUNNING.get()
    if running is not None:
        # A tool passes its own config on, thread and all, unless it names another: the same thread is not the
        # sub-agent's.
        own = thread if thread and thread != running.thread else _child(running, place)
        return SessionLineage(own, running.line.session, checkpointed, agent=agent)
    if thread:
        return SessionLineage(thread, checkpointed=checkpointed, agent=agent)
    noted = state.get(STATE_KEY) if isinstance(state, Mapping) else getattr(state, STATE_KEY, "")
    if isinstance(noted, str) and noted:
        return SessionLineage(noted, agent=agent)
    return SessionLineage(f"run-{uuid4().hex}", fresh=True, agent=agent) if makes else SessionLineage("", agent=agent)


def lineage_of_tool(config: RunnableConfig) -> SessionLineage:
    """Return the session of a tool that is being run: that of its tool call, where it is known."""
    running = _RUNNING.get()
    thread, place, _, _ = _read_config(config)
    if running is not None and (running.thread, running.place) == (thread, place):
        return running.line
    return lineage_of_call(config)


@contextmanager
def tool_call_scope(config: RunnableConfig, state: object, call: str) -> Iterator[None]:
    """Mark the session as running while the block carries out one of its tool calls; yield nothing.

    Agents that the call starts are sub-agents of the session.
    """
    thread, place, _, _ = _read_config(config)
    line = lineage_of_call(config, state)
    token = _RUNNING.set(_Running(line, thread, place, call)) if line.session else None
    try:
        yield
    finally:
        if token is not None:
            _RUNNING.reset(token)


def _read_config(config: RunnableConfig) -> tuple[str, str, bool, str]:
    """Return thread, place among the graphs, whether a checkpointer is there, and the agent's name."""
    configurable: Mapping[str, Any] = config.get("configurable") or {}
    thread, place = str(configurable.get("thread_id") or ""), str(configurable.get("checkpoint_ns") or "")
    checkpointed = configurable.get("__pregel_checkpointer") is not None
    return thread, place, checkpointed, str((config.get("metadata") or {}).get("lc_agent_name") or "")


def _child(running: _Running, place: str) -> str:
    """Return the session of a graph that a tool call runs; LangGraph numbers the second and later ones of a call."""
    name = f"{running.line.session}/{running.call}"
    inner = place.removeprefix(f"{running.place}|").partition("|")[0] if place.startswith(f"{running.place}|") else ""
    return f"{name}/{inner}" if inner.isdigit() else name


def _unwrap_model(model: Any) -> Any:
    """Return the chat model within its bindings (`bind_tools`, `with_config`, `with_retry`)."""
    while (inner := getattr(model, "bound", None)) is not None:
        model = inner
    return model


def _model_name(model: Any) -> str:
    """Return the model's name, as its provider has it; empty where it has none."""
    names = (getattr(_unwrap_model(model), name, None) for name in ("model_name", "model", "model_id"))
    return next((name for name in names if isinstance(name, str) and name), "")


def model_window(model: Any, user: int | None = None) -> Window:
    """Return the model's window: as the `user` says, else as its profile, else as the table has it.

    A profile names the most that a request may have, which for some models is less than the window.
    """
    name, profile = _model_name(model), getattr(_unwrap_model(model), "profile", None)
    limits: Mapping[str, Any] = profile if isinstance(profile, Mapping) else {}
    most, output = (_tokens(limits.get(key)) for key in ("max_input_tokens", "max_output_tokens"))
    if user is not None:
        return Window(user, output, None, "user")
    tabled = window_of(name)
    if most is not None and tabled.input_limit == most:
        return tabled
    return window_of(name, host=most, host_output=output)


class _ToolSizes:
    """Sizes of lists of tools, in characters of their definitions; each list is written out once."""

    def __init__(self) -> None:
        self._sizes: dict[tuple[str, ...], int] = {}

    def size(self, tools: Sequence[BaseTool | dict[str, Any]]) -> int:
        names = tuple(tool.name if isinstance(tool, BaseTool) else json.dumps(tool, default=str) for tool in tools)
        if names not in self._sizes:
            written = (tool if isinstance(tool, dict) else convert_to_openai_tool(tool) for tool in tools)
            self._sizes[names] = sum(len(json.dumps(definition, default=str)) for definition in written)
        return self._sizes[names]


def _tokens(figure: object) -> int | None:
    return figure if isinstance(figure, int) and figure > 0 else None
