"""What every model call of an agent or a graph goes through: its session, a compaction where due, its frame."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, SystemMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from hudkit.errors import HudkitError
from hudkit.hosts.host_session import COMPACTION_TOOL_NAMES, HostCall
from hudkit.hosts.in_process import InProcessHud
from hudkit.hosts.langchain import message_compaction
from hudkit.hosts.langchain.langchain_messages import (
    ReadMessages,
    message_size,
    read_messages,
    tokens_after,
    with_base,
    with_frame,
)
from hudkit.hosts.langchain.message_compaction import SUMMARY_CALL_CONFIG, CompactionPlan, FinishedCompaction
from hudkit.hosts.langchain.session_lineage import SessionLineage
from hudkit.tokens import Window, window_of
from hudkit.tools import RouterReply

# --- What a chat model of LangChain's tells of itself: its name and its window; and the size of tools.


def unwrap_model(model: Any) -> Any:
    """The chat model within its bindings (`bind_tools`, `with_config`, `with_retry`)."""
    while (inner := getattr(model, "bound", None)) is not None:
        model = inner
    return model


def model_name(model: Any) -> str:
    """The model's name, as its provider has it; empty where it has none."""
    given = (getattr(unwrap_model(model), name, None) for name in ("model_name", "model", "model_id"))
    return next((one for one in given if isinstance(one, str) and one), "")


def model_window(model: Any, user: int | None = None) -> Window:
    """The model's window: as the `user` says, else as its profile, else as the table has it. A profile names the most
    that a request may have, which for some models is less than the window."""
    name, profile = model_name(model), getattr(unwrap_model(model), "profile", None)
    told: Mapping[str, Any] = profile if isinstance(profile, Mapping) else {}
    most, output = (_tokens(told.get(key)) for key in ("max_input_tokens", "max_output_tokens"))
    if user is not None:
        return Window(user, output, None, "user")
    known = window_of(name)
    if most is not None and known.input_limit == most:
        return known
    return window_of(name, host=most, host_output=output)


def bound_tools(model: Any) -> Sequence[Any]:
    """The tools that were bound to a model."""
    while model is not None:
        tools = (getattr(model, "kwargs", None) or {}).get("tools")
        if tools:
            return list(tools)
        model = getattr(model, "bound", None)
    return ()


class _ToolSizes:
    """Sizes of lists of tools, in characters of their definitions; each list is written out once."""

    def __init__(self) -> None:
        self._sizes: dict[tuple[str, ...], int] = {}

    def size(self, tools: Sequence[BaseTool | dict[str, Any]]) -> int:
        names = tuple(one.name if isinstance(one, BaseTool) else json.dumps(one, default=str) for one in tools)
        if names not in self._sizes:
            written = (one if isinstance(one, dict) else convert_to_openai_tool(one) for one in tools)
            self._sizes[names] = sum(len(json.dumps(one, default=str)) for one in written)
        return self._sizes[names]


def _tokens(figure: object) -> int | None:
    return figure if isinstance(figure, int) and figure > 0 else None


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

    def due(self, call: ModelCall) -> CompactionPlan | FinishedCompaction | None:
        """The compaction that comes before the call: one to be made, or one made already that its host lost."""
        if not self._compacts:
            return None
        line = call.line
        try:
            if not _same(call):
                self._elsewhere.add(line.session)
                return None
            self._elsewhere.discard(line.session)
            before = self._made.pop(line.session, None)
            if before is not None and before.of(call.messages):
                self._made[line.session] = before
                return before
            window = model_window(call.model, self._window)
            new = line.session not in self._known
            return self.attached.with_session(
                line.session,
                lambda talk: message_compaction.plan_compaction(
                    talk, lambda: self._read(call), call.messages, window, new=new
                ),
                parent=line.parent,
            )
        except (HudkitError, OSError) as error:
            _LOG.warning("a compaction is left out: %s", error)
        except Exception:
            _LOG.exception("a compaction is left out")
        return None

    def made(self, call: ModelCall, plan: CompactionPlan, answer: AIMessage | None) -> FinishedCompaction | None:
        """The compaction, with a model's summary, or without one."""
        line = call.line
        try:
            done = self.attached.with_session(
                line.session,
                lambda talk: message_compaction.finish_compaction(talk, plan, answer),
                parent=line.parent,
            )
        except (HudkitError, OSError) as error:
            _LOG.warning("a compaction is left out: %s", error)
            return None
        self._made[line.session] = done
        return done

    def place(self, call: ModelCall) -> ModelCall:
        """The call with the HUD in it."""
        line = call.line
        try:
            self._known.add(line.session)
            if self._resume and not line.parent:
                self._resume = self.attached.resume(line.session, self._resume)
            found = self._read(call)
            asked = HostCall(
                entries=found.entries,
                window=model_window(call.model, self._window),
                model=model_name(call.model),
                system=message_size(call.system) if call.system is not None else 0,
                tools=self._offered.size(call.tools),
                agent=line.agent,
                prunes=True,
            )
            placing = self.attached.prepare_call(line.session, asked, parent=line.parent)
            return call._replace(
                messages=with_frame(call.messages, found.spans, placing), system=with_base(call.system, placing.base)
            )
        except Exception:
            _LOG.exception("a call goes without the HUD")
            return call

    def answered(self, line: SessionLineage, response: Sequence[BaseMessage]) -> None:
        """The model has answered."""
        self.attached.report_usage(line.session, tokens_after(response), parent=line.parent)

    def tool(self, line: SessionLineage, name: str, arguments: Mapping[str, object] | str) -> RouterReply:
        """Answer a call of one of the HUD's tools."""
        if not line.session:
            return RouterReply("not recorded: this call belongs to no thread", False)
        if name in COMPACTION_TOOL_NAMES and line.session in self._elsewhere:
            return RouterReply(_COMPACTED_ELSEWHERE, False)
        return self.attached.tool(line.session, name, arguments, parent=line.parent)

    def _read(self, call: ModelCall) -> ReadMessages:
        return read_messages(call.messages, self._names, by_id=call.line.kept)


def _same(call: ModelCall) -> bool:
    """Whether what is sent is what is kept: else something else leaves messages out, and a compaction of ours would
    take from it what it counts on. What LangChain adds for calls that it could not read has no id yet."""
    return [one.id for one in call.messages if one.id] == [one.id for one in call.state]


# --- The call for a summary, where a compaction is due, and the model call that goes on after it.


_SUMMARY_LOG = logging.getLogger("hudkit.hosts.langchain")


def compact_if_due(calls: ModelCallPipeline, call: ModelCall) -> tuple[FinishedCompaction | None, ModelCall]:
    """The compaction, if one was due, and the call after it. A model that fails is asked once more, with less."""
    due = calls.due(call)
    if isinstance(due, CompactionPlan):
        answer = None
        for question in due.questions():
            try:
                answer = _said(unwrap_model(call.model).invoke(question, SUMMARY_CALL_CONFIG))
                break
            except Exception as error:
                _SUMMARY_LOG.warning("no summary from the model: %s", error)
        due = calls.made(call, due, answer)
    return _after(due, call)


async def acompact_if_due(calls: ModelCallPipeline, call: ModelCall) -> tuple[FinishedCompaction | None, ModelCall]:
    """The same, with the log's work off the event loop."""
    due = await asyncio.to_thread(calls.due, call)
    if isinstance(due, CompactionPlan):
        answer = None
        for question in due.questions():
            try:
                answer = _said(await unwrap_model(call.model).ainvoke(question, SUMMARY_CALL_CONFIG))
                break
            except Exception as error:
                _SUMMARY_LOG.warning("no summary from the model: %s", error)
        due = await asyncio.to_thread(calls.made, call, due, answer)
    return _after(due, call)


def _after(due: FinishedCompaction | None, call: ModelCall) -> tuple[FinishedCompaction | None, ModelCall]:
    return due, call if due is None else call._replace(messages=due.applied(call.messages))


def _said(answer: Any) -> AIMessage | None:
    return answer if isinstance(answer, AIMessage) else None
