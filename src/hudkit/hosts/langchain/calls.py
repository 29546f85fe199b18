"""What every model call of an agent or a graph goes through: its session, a compaction where due, its frame."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, SystemMessage

from hudkit.errors import HudkitError
from hudkit.hosts.host_session import COMPACT_TOOLS, HostCall
from hudkit.hosts.in_process import InProcessHud
from hudkit.hosts.langchain import compaction, models
from hudkit.hosts.langchain.compaction import Made, Plan
from hudkit.hosts.langchain.lineage import Line
from hudkit.hosts.langchain.placing import placed, with_base
from hudkit.hosts.langchain.transcript import Read, read, size_of, used_after
from hudkit.tools import RouterReply

_LOG = logging.getLogger("hudkit.hosts.langchain")

ELSEWHERE = "Not compacted: the messages of this agent are kept and shortened by something else."


class ModelCall(NamedTuple):
    """A model call as its host would make it: `state` are the messages as they are kept, `messages` as they are
    sent, `tools` what the model is offered."""

    line: Line
    model: Any
    messages: Sequence[AnyMessage]
    system: SystemMessage | None
    tools: Sequence[Any]
    state: Sequence[AnyMessage]


class Calls:
    """The model calls of all sessions of one middleware. Nothing here raises into a call: then it goes as it was."""

    def __init__(
        self, attached: InProcessHud, *, window: int | None, names: Mapping[str, str], compacts: bool, resume: str
    ) -> None:
        self.attached = attached
        self._window = window
        self._names = names
        self._compacts = compacts
        self._resume = resume
        self._offered = models.Offered()
        self._made: dict[str, Made] = {}
        self._known: set[str] = set()
        self._elsewhere: set[str] = set()

    def due(self, call: ModelCall) -> Plan | Made | None:
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
            window = models.window(call.model, self._window)
            new = line.session not in self._known
            return self.attached.with_session(
                line.session,
                lambda talk: compaction.plan(talk, lambda: self._read(call), call.messages, window, new=new),
                parent=line.parent,
            )
        except (HudkitError, OSError) as error:
            _LOG.warning("a compaction is left out: %s", error)
        except Exception:
            _LOG.exception("a compaction is left out")
        return None

    def made(self, call: ModelCall, plan: Plan, answer: AIMessage | None) -> Made | None:
        """The compaction, with a model's summary, or without one."""
        line = call.line
        try:
            done = self.attached.with_session(
                line.session, lambda talk: compaction.made(talk, plan, answer), parent=line.parent
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
                window=models.window(call.model, self._window),
                model=models.name_of(call.model),
                system=size_of(call.system) if call.system is not None else 0,
                tools=self._offered.size(call.tools),
                agent=line.agent,
                prunes=True,
            )
            placing = self.attached.prepare_call(line.session, asked, parent=line.parent)
            return call._replace(
                messages=placed(call.messages, found.spans, placing), system=with_base(call.system, placing.base)
            )
        except Exception:
            _LOG.exception("a call goes without the HUD")
            return call

    def answered(self, line: Line, response: Sequence[BaseMessage]) -> None:
        """The model has answered."""
        self.attached.report_usage(line.session, used_after(response), parent=line.parent)

    def tool(self, line: Line, name: str, arguments: Mapping[str, object] | str) -> RouterReply:
        """Answer a call of one of the HUD's tools."""
        if not line.session:
            return RouterReply("not recorded: this call belongs to no thread", False)
        if name in COMPACT_TOOLS and line.session in self._elsewhere:
            return RouterReply(ELSEWHERE, False)
        return self.attached.tool(line.session, name, arguments, parent=line.parent)

    def _read(self, call: ModelCall) -> Read:
        return read(call.messages, self._names, by_id=call.line.kept)


def _same(call: ModelCall) -> bool:
    """Whether what is sent is what is kept: else something else leaves messages out, and a compaction of ours would
    take from it what it counts on. What LangChain adds for calls that it could not read has no id yet."""
    return [one.id for one in call.messages if one.id] == [one.id for one in call.state]


__all__ = ["Calls", "ModelCall"]
