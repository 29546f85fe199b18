"""The HUD as a middleware of `create_agent`, and as a part of any LangGraph graph."""

from __future__ import annotations

import asyncio
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
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import Runnable, ensure_config
from langgraph.types import Command

from hudkit.api import Hud
from hudkit.hosts.in_process import InProcessHud
from hudkit.hosts.langchain import graphs, lineage
from hudkit.hosts.langchain.calls import Calls, ModelCall
from hudkit.hosts.langchain.compaction import Made
from hudkit.hosts.langchain.summaries import asummarised, summarised
from hudkit.hosts.langchain.tools import hud_tools, readable, strict

HOST = "langchain"


class HudAgentState(AgentState[ResponseT]):
    """An agent's state with the session of a run without a thread; it is in no input, no output."""

    hud_session: NotRequired[Annotated[str, PrivateStateAttr]]


class HudMiddleware(AgentMiddleware[AgentState[ResponseT], ContextT, ResponseT]):
    """The HUD in every model call of an agent: `create_agent(model, tools, middleware=[HudMiddleware()])`.

    The session is the `thread_id` of the run's config; a run without one is a session of its own. An agent with the
    HUD that is started by a tool of another one is a sub-agent of it. Safe for many threads at once.
    """

    state_schema = cast("type[AgentState[ResponseT]]", HudAgentState)
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
        self._calls = Calls(self._attached, window=window, names=tools or {}, compacts=compact, resume=resume)
        self.tools = hud_tools(self._calls.tool, compacts=compact)
        self._names = [one.name for one in self.tools]

    # -- model calls -------------------------------------------------------------------------------------------

    def wrap_model_call(
        self, request: ModelRequest[ContextT], handler: Callable[[ModelRequest[ContextT]], ModelResponse[ResponseT]]
    ) -> ExtendedModelResponse[ResponseT]:
        """Compact where that is due, put the HUD into the request, and take up what the model's answer tells."""
        call = _call_of(request)
        compacted, call = summarised(self._calls, call)
        sent = self._calls.place(call)
        response = handler(_request_of(request, sent))
        return self._done(request, call, compacted, response)

    async def awrap_model_call(
        self,
        request: ModelRequest[ContextT],
        handler: Callable[[ModelRequest[ContextT]], Awaitable[ModelResponse[ResponseT]]],
    ) -> ExtendedModelResponse[ResponseT]:
        """The same, with the log's work off the event loop."""
        call = _call_of(request)
        compacted, call = await asummarised(self._calls, call)
        sent = await asyncio.to_thread(self._calls.place, call)
        response = await handler(_request_of(request, sent))
        return await asyncio.to_thread(self._done, request, call, compacted, response)

    def _done(
        self,
        request: ModelRequest[ContextT],
        call: ModelCall,
        compacted: Made | None,
        response: ModelResponse[ResponseT],
    ) -> ExtendedModelResponse[ResponseT]:
        self._calls.answered(call.line, response.result)
        result = [readable(one, self._names) if isinstance(one, AIMessage) else one for one in response.result]
        response = ModelResponse(result=result, structured_response=response.structured_response)
        update: dict[str, Any] = {lineage.STATE_KEY: call.line.session} if call.line.fresh else {}
        if compacted is not None:
            update["messages"] = [*compacted.update(request.messages, request.state["messages"]), *result]
        return ExtendedModelResponse(response, Command(update=update) if update else None)

    # -- tool calls --------------------------------------------------------------------------------------------

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Carry the call out as it is; agents that it starts know whose it is."""
        with lineage.tool_call(request.runtime.config, request.state, request.tool_call["id"] or ""):
            return handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """The same."""
        with lineage.tool_call(request.runtime.config, request.state, request.tool_call["id"] or ""):
            return await handler(request)

    # -- graphs of your own ------------------------------------------------------------------------------------

    def model_call(
        self, model: Runnable[LanguageModelInput, Any], *, session: str = ""
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with the HUD in its calls, to be called with messages in a node of your own. The session is the
        thread of the graph's run, or `session`; without both, calls go without the HUD. It does not compact."""
        return graphs.HudModel(self._calls, model, session, self._names)

    def model_node(
        self, model: Runnable[LanguageModelInput, Any], *, system_prompt: str = "", session: str = ""
    ) -> Runnable[Any, dict[str, Any]]:
        """A node that answers the `messages` of a graph's state with the model, and compacts them where that is due:
        `builder.add_node("model", hud.model_node(model.bind_tools([*tools, *hud.tools])))`."""
        return graphs.model_node(self._calls, model, system_prompt, session, self._names)

    def close(self) -> None:
        """Close the log, where it was opened here; twice is harmless."""
        self._attached.close()


def _call_of(request: ModelRequest[Any]) -> ModelCall:
    line = lineage.line_of(ensure_config(), request.state, makes=True)
    kept: Sequence[Any] = request.state.get("messages", ())
    tools = strict(request.tools) if request.response_format is not None else request.tools
    return ModelCall(line, request.model, request.messages, request.system_message, tools, kept)


def _request_of(request: ModelRequest[ContextT], sent: ModelCall) -> ModelRequest[ContextT]:
    return request.override(messages=list(sent.messages), system_message=sent.system, tools=list(sent.tools))
