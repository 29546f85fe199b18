"""The HUD in LangGraph graphs that are put together by hand: a model to call in a node, and a node."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    MessageLikeRepresentation,
    SystemMessage,
    convert_to_messages,
)
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda, ensure_config

from hudkit.hosts.langchain.calls import Calls, ModelCall
from hudkit.hosts.langchain.compaction import Made
from hudkit.hosts.langchain.lineage import Line, line_of
from hudkit.hosts.langchain.models import bound_tools
from hudkit.hosts.langchain.summaries import asummarised, summarised
from hudkit.hosts.langchain.tools import readable

_LOG = logging.getLogger("hudkit.hosts.langchain")


class HudModel(Runnable[LanguageModelInput, AIMessage]):
    """A model whose calls carry the HUD."""

    def __init__(self, calls: Calls, model: Runnable[LanguageModelInput, Any], session: str, names: Sequence[str]):
        self._calls = calls
        self._model = model
        self._session = session
        self._names = names

    def invoke(self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:
        """Answer the messages; the system prompt may stand first in them."""
        line = self.line(config)
        if not line.session:
            return self._took(self._model.invoke(input, config, **kwargs))
        call = self.call(line, _messages(input))
        answer = self._took(self._model.invoke(_sent(self._calls.place(call)), config, **kwargs))
        self._calls.answered(line, [answer])
        return answer

    async def ainvoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AIMessage:
        """The same, with the log's work off the event loop."""
        line = self.line(config)
        if not line.session:
            return self._took(await self._model.ainvoke(input, config, **kwargs))
        call = self.call(line, _messages(input))
        sent = await asyncio.to_thread(self._calls.place, call)
        answer = self._took(await self._model.ainvoke(_sent(sent), config, **kwargs))
        await asyncio.to_thread(self._calls.answered, line, [answer])
        return answer

    def line(self, config: RunnableConfig | None) -> Line:
        """The session of a call; none where neither a thread nor a name tells it."""
        line = line_of(ensure_config(config))
        if self._session and not line.parent:
            line = line._replace(session=self._session)
        if not line.session:
            _LOG.warning("a call goes without the HUD: give its run a thread_id, or model_call a session")
        return line

    def call(self, line: Line, messages: Sequence[AnyMessage]) -> ModelCall:
        """The call as it would be made, the system prompt apart."""
        system = messages[0] if messages and isinstance(messages[0], SystemMessage) else None
        rest = messages[1:] if system is not None else messages
        return ModelCall(line, self._model, rest, system, bound_tools(self._model), rest)

    def _took(self, answer: Any) -> AIMessage:
        return readable(answer, self._names)


def model_node(
    calls: Calls, model: Runnable[LanguageModelInput, Any], system_prompt: str, session: str, names: Sequence[str]
) -> Runnable[Any, dict[str, Any]]:
    """A node over the `messages` of a graph's state."""
    hud_model = HudModel(calls, model, session, names)
    head = [SystemMessage(system_prompt)] if system_prompt else []

    def node(state: Any, config: RunnableConfig) -> dict[str, Any]:
        messages = _of(state)
        line = hud_model.line(config)
        done, call = summarised(calls, hud_model.call(line, messages)) if line.session else (None, None)
        shown = call.messages if call is not None else messages
        return _update(done, messages, hud_model.invoke([*head, *shown], config))

    async def anode(state: Any, config: RunnableConfig) -> dict[str, Any]:
        messages = _of(state)
        line = hud_model.line(config)
        done, call = await asummarised(calls, hud_model.call(line, messages)) if line.session else (None, None)
        shown = call.messages if call is not None else messages
        return _update(done, messages, await hud_model.ainvoke([*head, *shown], config))

    return RunnableLambda(node, anode, name="model")


def _update(done: Made | None, messages: Sequence[AnyMessage], answer: AIMessage) -> dict[str, Any]:
    before = done.update(messages, messages) if done is not None else []
    return {"messages": [*before, answer]}


def _of(state: Any) -> list[AnyMessage]:
    return list(state["messages"] if isinstance(state, Mapping) else state.messages)


def _messages(given: LanguageModelInput) -> list[Any]:
    if isinstance(given, PromptValue):
        return given.to_messages()
    if isinstance(given, str):
        return [HumanMessage(given)]
    said: Sequence[MessageLikeRepresentation] = given
    return convert_to_messages(said)


def _sent(call: ModelCall) -> list[AnyMessage]:
    return [*([call.system] if call.system is not None else []), *call.messages]
