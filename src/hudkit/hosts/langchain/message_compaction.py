"""A compaction of an agent's messages: when, what a model is asked, and what the messages become."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

from langchain.agents.middleware.internal_call_transformer import internal_call_metadata
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage
from langchain_core.messages.utils import get_buffer_string
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from hudkit.context.compaction.cut_point import cut_text, max_text_characters
from hudkit.context.compaction.request_parts import HANDED_OVER_CHARACTERS
from hudkit.context.compaction.summaries import SUMMARY_SYSTEM_PROMPT
from hudkit.hosts.host_session import HostSession
from hudkit.hosts.langchain.langchain_messages import (
    METADATA_KEY,
    SHORTENED_MARK,
    SUMMARY_MARK,
    ReadMessages,
    finish_reason,
    is_summary,
)
from hudkit.tokens import Window
from hudkit.tokens.windows import OverflowRule

_LOG = logging.getLogger("hudkit.hosts.langchain")

_SUMMARY_INTRO = "Here is a summary of the conversation up to now:"
_WORK_HAS_BEGUN = (
    "Work on the user's last message, which follows, has begun: go on where it stopped. If it is done, say so."
)
SUMMARY_CALL_CONFIG: RunnableConfig = {
    "tags": [TAG_NOSTREAM],
    "metadata": {"lc_source": "summarization", **internal_call_metadata()},
}
"""How the call for a summary is known, and kept out of what the agent's user reads as it comes."""


class CompactionPlan(NamedTuple):
    """A compaction to be made: what stands at `shown[cut:]` stays. `prompt` is what a model is asked for."""

    shown: Sequence[AnyMessage]
    cut: int
    prompt: str
    most: int

    def questions(self) -> list[list[BaseMessage]]:
        """What the model is asked, and what it is asked where that is too long."""
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
        """Whether the messages are those that it was made of, with nothing but later ones behind them: a call that
        failed is made again, with what was written once."""
        return tuple(one.id for one in messages[: len(self.ids)]) == self.ids

    def applied(self, messages: Sequence[AnyMessage]) -> list[AnyMessage]:
        """The messages of a request after it."""
        return [*self.stands, *messages[self.cut :]]

    def update(self, shown: Sequence[AnyMessage], state: Sequence[AnyMessage]) -> list[Any]:
        """What makes the agent's state the same: the messages that stay are those of the `state`."""
        kept = {one.id: one for one in state if one.id}
        return [RemoveMessage(REMOVE_ALL_MESSAGES), *(kept.get(one.id or "", one) for one in self.applied(shown))]


def plan_compaction(
    talk: HostSession, reads: Callable[[], ReadMessages], shown: Sequence[AnyMessage], window: Window, *, new: bool
) -> CompactionPlan | None:
    """The compaction that is due before a call, if one is; `reads` gives what is `shown` as entries, `new`: this
    process knows nothing of the session yet."""
    if not new and not talk.is_compaction_due(window):
        return None
    read = reads()
    if not talk.compaction_requested:
        talk.ingest(read.entries)  # a summary of somebody else's may be new
        if not talk.is_compaction_due(window):
            return None
    at = talk.tail_start(read.entries, window)
    cut = read.spans[at][0] if at < len(read.spans) else len(shown)
    rule = OverflowRule(reserved=talk.session.settings.overflow.reserved_tokens)
    most = max_text_characters(window, rule)
    if not any(isinstance(one, AIMessage) or len(str(one.text)) > most for one in shown[:cut]):
        talk.compaction_requested = False
        return None
    return CompactionPlan(shown, cut, talk.start_compaction("auto"), most)


def finish_compaction(talk: HostSession, plan: CompactionPlan, answer: AIMessage | None) -> FinishedCompaction:
    """The compaction, with the model's summary, or the log's own where it gave none."""
    text, finish = (str(answer.text), finish_reason(answer)) if answer is not None else ("", "")
    summary, why = talk.usable_summary(text, finish)
    if why:
        _LOG.warning("the summary is made without a model: %s", why)
    old, kept = plan.shown[: plan.cut], plan.shown[plan.cut :]
    asked = next((one for one in reversed(plan.shown) if _is_asked(one)), None)
    replayed = [_short(asked, plan.most)] if asked is not None and asked not in kept else []
    under_way = bool(replayed) and any(isinstance(one, AIMessage) for one in plan.shown[plan.shown.index(asked) :])
    content = "\n\n".join([_SUMMARY_INTRO, summary, *([_WORK_HAS_BEGUN] if under_way else [])])
    marks = {"lc_source": "summarization", METADATA_KEY: {SUMMARY_MARK: summary}}
    head = HumanMessage(content, id=str(uuid4()), additional_kwargs=marks)
    return FinishedCompaction(tuple(one.id for one in plan.shown), len(old), (head, *replayed))


def _is_asked(message: BaseMessage) -> bool:
    return isinstance(message, HumanMessage) and not is_summary(message)


def _told(messages: Sequence[BaseMessage], prompt: str) -> str:
    """The conversation as text: a model that is offered no tools refuses messages with calls, at some providers."""
    return f"<conversation>\n{get_buffer_string(messages, format='xml')}\n</conversation>\n\n{prompt}"


def _shorter(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    out: list[AnyMessage] = []
    for one in messages:
        if isinstance(one, AIMessage) and one.tool_calls:
            calls = [{**call, "args": _short_args(call["args"])} for call in one.tool_calls]
            one = one.model_copy(update={"tool_calls": calls})
        out.append(one if is_summary(one) else _cut(one, HANDED_OVER_CHARACTERS))
    return out


def _short_args(given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: cut_text(one, HANDED_OVER_CHARACTERS) if isinstance(one, str) else one for name, one in given.items()
    }


def _short(message: AnyMessage, most: int) -> AnyMessage:
    """A user's message that stays, cut where it would fill the window again."""
    if len(str(message.text)) <= most:
        return message
    marks = {**message.additional_kwargs, METADATA_KEY: SHORTENED_MARK}
    return _cut(message, most).model_copy(update={"additional_kwargs": marks})


def _cut(message: AnyMessage, most: int) -> AnyMessage:
    text = str(message.text)
    return message if len(text) <= most else message.model_copy(update={"content": cut_text(text, most)})
