"""The HUD as a middleware of `create_agent`, and as a part of any LangGraph graph."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, NotRequired, cast

from langchain.agents.middleware.internal_call_transformer import InternalCallTransformer
from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ContextT,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
    ResponseT,
    ToolCallRequest,
)
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    MessageLikeRepresentation,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)
from langchain_core.messages.tool import tool_call
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda, ensure_config
from langchain_core.tools import BaseTool, ToolException
from langgraph.types import Command
from pydantic import PrivateAttr

from hudkit.api import Hud
from hudkit.hosts.in_process import TOOL_DEFINITIONS, InProcessHud
from hudkit.hosts.langchain import model_calls
from hudkit.hosts.langchain.model_calls import (
    FinishedCompaction,
    ModelCall,
    ModelCallPipeline,
    SessionLineage,
    acompact_if_due,
    compact_if_due,
    lineage_of_call,
    lineage_of_tool,
)
from hudkit.tools import DEFINITIONS as ROUTERS
from hudkit.tools import RouterReply

# --- The HUD's tools as LangChain's: the two routers, and the two that compact.


_AnswerCall = Callable[[SessionLineage, str, Mapping[str, object] | str], RouterReply]


# A `BaseTool` with a schema of its own: a parameter called `args` breaks LangChain's `@tool` (seen on 1.4).
class _HudTool(BaseTool):
    """One of the HUD's tools. What is wrong with a call is said in its result."""

    handle_tool_error: bool = True
    _answer: _AnswerCall = PrivateAttr()

    def __init__(self, definition: Mapping[str, Any], answer: _AnswerCall) -> None:
        super().__init__(
            name=str(definition["name"]),
            description=str(definition["description"]),
            args_schema=_lean(definition["parameters"]),
        )
        self._answer = answer

    def _run(self, *, config: RunnableConfig, **arguments: Any) -> str:
        reply = self._answer(lineage_of_tool(config), self.name, _read(arguments))
        if not reply.ok:
            raise ToolException(reply.text)
        return reply.text

    # LangChain calls the one or the other, as the agent is run: both are needed, here and in the middleware.
    async def _arun(self, *, config: RunnableConfig, **arguments: Any) -> str:
        return await asyncio.to_thread(self._run, config=config, **arguments)


def _hud_tools(answer: _AnswerCall, *, compacts: bool) -> Sequence[BaseTool]:
    """Return the tools that an agent gets; those that compact where that can be had."""
    return [_HudTool(definition, answer) for definition in (TOOL_DEFINITIONS if compacts else ROUTERS)]


def _strict_tools(tools: Sequence[Any]) -> list[Any]:
    """Return the same tools for a request that asks for an answer in a schema: OpenAI's models then take no argument
    that the definition does not list, so that the others come as JSON text.
    """
    return [_textual(tool) if isinstance(tool, _HudTool) else tool for tool in tools]


def _answerable(message: AIMessage, names: Sequence[str]) -> AIMessage:
    """Return the response with calls of the HUD's tools (`names`) that are no JSON made into calls that can be
    answered: LangChain would end the turn there, or tell the agent nothing of what was wrong.
    """
    broken = [call for call in message.invalid_tool_calls if call["name"] in names]
    if not broken:
        return message
    calls = [tool_call(name=str(call["name"]), args={"tool": call["args"] or ""}, id=call["id"]) for call in broken]
    others = [call for call in message.invalid_tool_calls if call not in broken]
    return message.model_copy(update={"tool_calls": [*message.tool_calls, *calls], "invalid_tool_calls": others})


def _textual(tool: _HudTool) -> _HudTool:
    schema = cast("dict[str, Any]", tool.args_schema)
    if "operation" not in schema["properties"]:
        return tool
    # A strict schema allows nothing beyond what it lists, and no free objects: what an operation takes beside comes
    # as JSON text.
    properties = {**schema["properties"], "args": {"type": "string", "description": "Other arguments, as JSON text."}}
    return tool.model_copy(update={"args_schema": {**schema, "properties": properties}})


def _lean(schema: Any) -> Any:
    """Return the schema as LangChain writes those of other tools: each call pays for what stands in it."""
    if not isinstance(schema, dict):
        return schema
    return {name: _lean(value) for name, value in schema.items() if name != "additionalProperties"}


def _read(arguments: Mapping[str, Any]) -> Mapping[str, object] | str:
    """Return the arguments, or the text of a call that `_answerable` took up."""
    only = arguments.get("tool")
    return only if len(arguments) == 1 and isinstance(only, str) and only.lstrip()[:1] in ("{", "[") else arguments


# --- The HUD in LangGraph graphs that are put together by hand: a model to call in a node, and a node.


_LOG = logging.getLogger("hudkit.hosts.langchain")


class _HudModel(Runnable[LanguageModelInput, AIMessage]):
    """A model whose calls carry the HUD."""

    def __init__(
        self, calls: ModelCallPipeline, model: Runnable[LanguageModelInput, Any], session: str, names: Sequence[str]
    ):
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
        """Do the same as `wrap_model_call` and return the same, with the log's work off the event loop."""
        line = self.line(config)
        if not line.session:
            return self._took(await self._model.ainvoke(input, config, **kwargs))
        call = self.call(line, _messages(input))
        sent = await asyncio.to_thread(self._calls.place, call)
        answer = self._took(await self._model.ainvoke(_sent(sent), config, **kwargs))
        await asyncio.to_thread(self._calls.answered, line, [answer])
        return answer

    def line(self, config: RunnableConfig | None) -> SessionLineage:
        """Return the session of a call; none where neither a thread nor a name tells it."""
        line = lineage_of_call(ensure_config(config))
        if self._session and not line.parent:
            line = line._replace(session=self._session)
        if not line.session:
            _LOG.warning("a call goes without the HUD: give its run a thread_id, or model_call a session")
        return line

    def call(self, line: SessionLineage, messages: Sequence[AnyMessage]) -> ModelCall:
        """Return the call as it would be made, the system prompt apart."""
        system = messages[0] if messages and isinstance(messages[0], SystemMessage) else None
        rest = messages[1:] if system is not None else messages
        return ModelCall(line, self._model, rest, system, _bound_tools(self._model), rest)

    def _took(self, answer: Any) -> AIMessage:
        return _answerable(answer, self._names)


def _model_node(
    calls: ModelCallPipeline,
    model: Runnable[LanguageModelInput, Any],
    system_prompt: str,
    session: str,
    names: Sequence[str],
) -> Runnable[Any, dict[str, Any]]:
    """Return a node over the `messages` of a graph's state."""
    hud_model = _HudModel(calls, model, session, names)
    # The system prompt is not in the state, so that a compaction of the state leaves it alone.
    head = [SystemMessage(system_prompt)] if system_prompt else []

    def node(state: Any, config: RunnableConfig) -> dict[str, Any]:
        messages = _of(state)
        line = hud_model.line(config)
        done, call = compact_if_due(calls, hud_model.call(line, messages)) if line.session else (None, None)
        shown = call.messages if call is not None else messages
        return _update(done, messages, hud_model.invoke([*head, *shown], config))

    async def anode(state: Any, config: RunnableConfig) -> dict[str, Any]:
        messages = _of(state)
        line = hud_model.line(config)
        done, call = await acompact_if_due(calls, hud_model.call(line, messages)) if line.session else (None, None)
        shown = call.messages if call is not None else messages
        return _update(done, messages, await hud_model.ainvoke([*head, *shown], config))

    return RunnableLambda(node, anode, name="model")


def _update(done: FinishedCompaction | None, messages: Sequence[AnyMessage], answer: AIMessage) -> dict[str, Any]:
    before = done.update(messages, messages) if done is not None else []
    return {"messages": [*before, answer]}


def _of(state: Any) -> list[AnyMessage]:
    return list(state["messages"] if isinstance(state, Mapping) else state.messages)


def _messages(prompt: LanguageModelInput) -> list[Any]:
    if isinstance(prompt, PromptValue):
        return prompt.to_messages()
    if isinstance(prompt, str):
        return [HumanMessage(prompt)]
    messages: Sequence[MessageLikeRepresentation] = prompt
    return convert_to_messages(messages)


def _sent(call: ModelCall) -> list[AnyMessage]:
    return [*([call.system] if call.system is not None else []), *call.messages]


HOST = "langchain"


class _HudAgentState(AgentState[ResponseT]):
    """An agent's state with the session of a run without a thread; it is in no input, no output."""

    hud_session: NotRequired[Annotated[str, PrivateStateAttr]]


class HudMiddleware(AgentMiddleware[AgentState[ResponseT], ContextT, ResponseT]):
    """The HUD in every model call of an agent: `create_agent(model, tools, middleware=[HudMiddleware()])`.

    The session is the `thread_id` of the run's config; a run without one is a session of its own. An agent with the
    HUD that is started by a tool of another one is a sub-agent of it. Safe for many threads at once.
    """

    state_schema = cast("type[AgentState[ResponseT]]", _HudAgentState)
    transformers = (InternalCallTransformer,)

    def __init__(
        self,
        hud: Hud | str | os.PathLike[str] | None = None,
        *,
        project: str | os.PathLike[str] | None = None,
        window: int | None = None,
        tools: Mapping[str, str] | None = None,
        compact: bool = True,
        resume: str = "",
    ) -> None:
        """`hud` is an open `Hud`, the path of a log, or nothing: the user's own log, which all hosts share. `project`
        is the directory that the agent works in (default: the current one). `window` (tokens) overrules what the
        model's profile says. `tools` says what tools of yours are, where their names do not:
        `{"load_text": "read"}`. `compact=False` leaves compactions to something else, and the tools for them out.
        `resume` names a session of any host whose task the first new session takes up.

        Nothing is opened before the first call; a log that cannot be used stops no call.
        """
        super().__init__()
        self._attached = InProcessHud(hud, host=HOST, project=project)
        self._calls = ModelCallPipeline(
            self._attached, window=window, names=tools or {}, compacts=compact, resume=resume
        )
        self.tools = _hud_tools(self._calls.tool, compacts=compact)
        self._names = [tool.name for tool in self.tools]

    # -- model calls -------------------------------------------------------------------------------------------

    def wrap_model_call(
        self, request: ModelRequest[ContextT], handler: Callable[[ModelRequest[ContextT]], ModelResponse[ResponseT]]
    ) -> ExtendedModelResponse[ResponseT]:
        """Compact where that is due, put the HUD into the request, and return what the model answers."""
        call = _call_of(request)
        compacted, call = compact_if_due(self._calls, call)
        sent = self._calls.place(call)
        response = handler(_request_of(request, sent))
        return self._done(request, call, compacted, response)

    async def awrap_model_call(
        self,
        request: ModelRequest[ContextT],
        handler: Callable[[ModelRequest[ContextT]], Awaitable[ModelResponse[ResponseT]]],
    ) -> ExtendedModelResponse[ResponseT]:
        """Do the same, with the log's work off the event loop."""
        call = _call_of(request)
        compacted, call = await acompact_if_due(self._calls, call)
        sent = await asyncio.to_thread(self._calls.place, call)
        response = await handler(_request_of(request, sent))
        return await asyncio.to_thread(self._done, request, call, compacted, response)

    def _done(
        self,
        request: ModelRequest[ContextT],
        call: ModelCall,
        compacted: FinishedCompaction | None,
        response: ModelResponse[ResponseT],
    ) -> ExtendedModelResponse[ResponseT]:
        self._calls.answered(call.line, response.result)
        result = [
            _answerable(message, self._names) if isinstance(message, AIMessage) else message
            for message in response.result
        ]
        # The state gets the response as the agent may go on with it: with calls that can be answered.
        response = ModelResponse(result=result, structured_response=response.structured_response)
        update: dict[str, Any] = {model_calls.STATE_KEY: call.line.session} if call.line.fresh else {}
        if compacted is not None:
            update["messages"] = [*compacted.update(request.messages, request.state["messages"]), *result]
        return ExtendedModelResponse(response, Command(update=update) if update else None)

    # -- tool calls --------------------------------------------------------------------------------------------

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Carry the call out as it is and return its result; agents that it starts know whose call it is."""
        with model_calls.tool_call_scope(request.runtime.config, request.state, request.tool_call["id"] or ""):
            return handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Do the same as `wrap_tool_call` and return the same."""
        with model_calls.tool_call_scope(request.runtime.config, request.state, request.tool_call["id"] or ""):
            return await handler(request)

    # -- graphs of your own ------------------------------------------------------------------------------------

    def model_call(
        self, model: Runnable[LanguageModelInput, Any], *, session: str = ""
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with the HUD in its calls, to be called with messages in a node of your own.

        The session is the thread of the graph's run, or `session`; without both, calls go without the HUD. It does
        not compact.
        """
        return _HudModel(self._calls, model, session, self._names)

    def model_node(
        self, model: Runnable[LanguageModelInput, Any], *, system_prompt: str = "", session: str = ""
    ) -> Runnable[Any, dict[str, Any]]:
        """Return a node that answers the `messages` of a graph's state with the model, and compacts them where that
        is due: `builder.add_node("model", hud.model_node(model.bind_tools([*tools, *hud.tools])))`.
        """
        return _model_node(self._calls, model, system_prompt, session, self._names)

    def close(self) -> None:
        """Close the log, where it was opened here; twice is harmless."""
        self._attached.close()


def _call_of(request: ModelRequest[Any]) -> ModelCall:
    line = model_calls.lineage_of_call(ensure_config(), request.state, makes=True)
    state_messages: Sequence[Any] = request.state.get("messages", ())
    tools = _strict_tools(request.tools) if request.response_format is not None else request.tools
    return ModelCall(line, request.model, request.messages, request.system_message, tools, state_messages)


def _request_of(request: ModelRequest[ContextT], sent: ModelCall) -> ModelRequest[ContextT]:
    return request.override(messages=list(sent.messages), system_message=sent.system, tools=list(sent.tools))


def _bound_tools(model: Any) -> Sequence[Any]:
    """Return the tools that were bound to a model."""
    while model is not None:
        tools = (getattr(model, "kwargs", None) or {}).get("tools")
        if tools:
            return list(tools)
        model = getattr(model, "bound", None)
    return ()
