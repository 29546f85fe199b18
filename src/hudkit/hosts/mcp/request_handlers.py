"""The MCP server: each request goes to its session, and what comes of it goes back in MCP's words."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, unquote, urlsplit

import mcp_types as types
import msgspec
from anyio import to_thread
from mcp.server import Server, ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, SubscriptionBus
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from hudkit import __version__
from hudkit.compose import visible
from hudkit.errors import HudkitError, OperationError
from hudkit.hosts.mcp.session_binding import RequestSession, SessionBinding
from hudkit.tools import DEFINITIONS

# --- What the server offers, word for word: tools, resources, prompts, and how an agent is told to use them.


_INSTRUCTIONS = (
    "Your HUD holds what must not be forgotten (task, constraints, decisions, steps, notes) and outlives compaction. "
    "Read it first, and again whenever the conversation was compacted or cut: the tool hud, operation snapshot.\n"
    "Record with hud as you work: a decision made, a step finished, a rule heard, a fact that took work to find. Its "
    "operation help explains. The tool memory, operation search, finds what was said in any session."
)

_CURRENT_URI = "hud://current"
_SESSION_URI = "hud://session/"
_JSON_SUFFIX = "/json"
"""The end of a resource's address where it is wanted as data."""

_MARKDOWN = "text/markdown"
_JSON = "application/json"

_OUTPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "ok": {"type": "boolean", "description": "Whether the call was carried out."},
        "text": {"type": "string", "description": "The answer; of a refused call, what is wrong and what is right."},
        "data": {"type": "object", "description": "The answer's facts, by operation.", "additionalProperties": True},
        "session": {"type": "string", "description": "The session that the call went to."},
    },
    "required": ["ok", "text", "data", "session"],
    "additionalProperties": False,
}
"""The schema of a tool's structured answer."""

_TITLES = {"hud": "HUD", "memory": "Memory of all sessions"}

_TOOLS = [
    types.Tool(
        name=str(definition["name"]),
        title=_TITLES[str(definition["name"])],
        description=str(definition["description"]),
        input_schema=definition["parameters"],
        output_schema=_OUTPUT_SCHEMA,
        # Both read and write; what is removed stays in the log; nothing beyond this machine is asked.
        annotations=types.ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
        ),
    )
    for definition in DEFINITIONS
]

_FOR_BOTH = types.Annotations(audience=["user", "assistant"], priority=1.0)

_RESOURCES = [
    types.Resource(
        uri=_CURRENT_URI,
        name="hud",
        title="The HUD",
        description="Task, constraints, decisions, steps, notes and files of this session.",
        mime_type=_MARKDOWN,
        annotations=_FOR_BOTH,
    ),
    types.Resource(
        uri=_CURRENT_URI + _JSON_SUFFIX,
        name="hud-data",
        title="The HUD as data",
        description="The same with all ids, as JSON.",
        mime_type=_JSON,
    ),
]

_TEMPLATES = [
    types.ResourceTemplate(
        uri_template=_SESSION_URI + "{id}",
        name="session",
        title="The HUD of a session",
        description="Of any session of the log, of any host, by its id.",
        mime_type=_MARKDOWN,
    ),
    types.ResourceTemplate(
        uri_template=_SESSION_URI + "{id}" + _JSON_SUFFIX,
        name="session-data",
        title="The HUD of a session as data",
        description="The same with all ids, as JSON.",
        mime_type=_JSON,
    ),
]

_PROMPTS = [
    types.Prompt(name="hud", title="Show the HUD", description="Puts the HUD as it is now into the conversation."),
    types.Prompt(
        name="resume",
        title="Take up an earlier task",
        description="Takes up the task of another session, of any host, with its constraints, decisions and steps.",
        arguments=[types.PromptArgument(name="session", description="The session's id.", required=True)],
    ),
]


# --- Who wants to know when a HUD changes: clients of versions with a handshake by subscription, others by a bus.


_MAX_SUBSCRIPTIONS = 1000
"""Subscriptions that are kept; the oldest, whose client may be long gone, goes first."""


class _Subscriber(NamedTuple):
    key: str
    session: ServerSession


class _Subscriptions:
    """The subscriptions of one server."""

    def __init__(self, bus: SubscriptionBus) -> None:
        self._bus = bus
        self._watchers: dict[tuple[str, str], _Subscriber] = {}

    def add(self, connection: str, uri: str, key: str, session: ServerSession) -> None:
        """Note that a client wants to know of changes of the session `key` of the log, which it calls `uri`."""
        self._watchers.pop((connection, uri), None)
        self._watchers[connection, uri] = _Subscriber(key, session)
        while len(self._watchers) > _MAX_SUBSCRIPTIONS:
            del self._watchers[next(iter(self._watchers))]

    def remove(self, connection: str, uri: str) -> None:
        self._watchers.pop((connection, uri), None)

    async def changed(self, key: str) -> None:
        """Tell of a change. On the bus all hear of `hud://current`, whosever it is: they read their own again."""
        for (_, uri), watcher in list(self._watchers.items()):
            if watcher.key == key:
                await watcher.session.send_resource_updated(uri)
        for uri in (_CURRENT_URI, _SESSION_URI + quote(key, safe="")):
            await self._bus.publish(ResourceUpdated(uri))
            await self._bus.publish(ResourceUpdated(uri + _JSON_SUFFIX))


_SESSION_HEADER = "hudkit-session"
"""The header, and `_SESSION_QUERY` the parameter of the address, by which a client on HTTP names its session."""
_SESSION_QUERY = "session"
_MCP_SESSION_HEADER = "mcp-session-id"

_ROOTS_TIMEOUT_S = 5.0
"""How long a client is waited for when it is asked where it works."""

_MAX_COMPLETIONS = 100

_LOG = logging.getLogger("hudkit.hosts.mcp")

_Context = ServerRequestContext[Any, Any]

T = TypeVar("T")


class McpHandlers:
    """The handlers of one server. Requests may come at once; the log's work is done in threads."""

    def __init__(self, binding: SessionBinding) -> None:
        self._binding = binding
        self._projects: dict[str, Path] = {}
        self._bus = InMemorySubscriptionBus()
        self._watching = _Subscriptions(self._bus)

    def server(self) -> Server[Any]:
        """Return a server of the SDK with these handlers."""
        server: Server[Any] = Server(
            "hudkit",
            version=__version__,
            title="hudkit",
            description="A heads-up display for LLM agents: what must not be forgotten.",
            instructions=_INSTRUCTIONS,
            lifespan=self._lifespan,
            on_list_tools=self._tools,
            on_call_tool=self._call,
            on_list_resources=self._resources,
            on_list_resource_templates=self._templates,
            on_read_resource=self._read,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=ListenHandler(self._bus),
            on_list_prompts=self._prompts,
            on_get_prompt=self._prompt,
            on_completion=self._complete,
        )
        server.middleware.append(_require_session)
        return server

    @asynccontextmanager
    async def _lifespan(self, _: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        try:
            yield {}
        finally:
            self._binding.close()

    # -- tools -------------------------------------------------------------------------------------------------

    async def _tools(self, _: _Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        # The same for every client and every time: a client's own prefix cache begins with them.
        return types.ListToolsResult(tools=_TOOLS)

    async def _call(self, ctx: _Context, asked: types.CallToolRequestParams) -> types.CallToolResult:
        if asked.name not in [tool.name for tool in _TOOLS]:
            names = ", ".join(tool.name for tool in _TOOLS)
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {visible(asked.name[:40])!r}; there are: {names}")
        where = await self._where(ctx)
        answered = await to_thread.run_sync(self._binding.tool, where, asked.name, asked.arguments or {})
        if answered.key:
            await self._watching.changed(answered.key)
        reply = answered.reply
        data = msgspec.to_builtins(reply.answer.data) if reply.answer else {}
        return types.CallToolResult(
            content=[types.TextContent(text=reply.text)],
            structured_content={"ok": reply.ok, "text": reply.text, "data": data, "session": where.session},
            is_error=not reply.ok,
        )

    # -- resources ---------------------------------------------------------------------------------------------

    async def _resources(self, _: _Context, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=_RESOURCES)

    async def _templates(
        self, _: _Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=_TEMPLATES)

    async def _read(self, ctx: _Context, asked: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        of, as_json = _resource(asked.uri)
        where = await self._where(ctx)
        if as_json:
            facts = await self._asked(lambda: self._binding.facts(where, of), asked.uri)
            text, kind = msgspec.json.encode(facts).decode(), _JSON
        else:
            text, kind = await self._asked(lambda: self._binding.page(where, of), asked.uri), _MARKDOWN
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=asked.uri, mime_type=kind, text=text)]
        )

    async def _subscribe(self, ctx: _Context, asked: types.SubscribeRequestParams) -> types.EmptyResult:
        of, _ = _resource(asked.uri)
        where = await self._where(ctx)
        key = await self._asked(lambda: self._binding.key(where, of), asked.uri)
        self._watching.add(_connection(ctx), asked.uri, key, ctx.session)
        return types.EmptyResult()

    async def _unsubscribe(self, ctx: _Context, asked: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self._watching.remove(_connection(ctx), asked.uri)
        return types.EmptyResult()

    # -- prompts -----------------------------------------------------------------------------------------------

    async def _prompts(self, _: _Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=_PROMPTS)

    async def _prompt(self, ctx: _Context, asked: types.GetPromptRequestParams) -> types.GetPromptResult:
        prompt = next((prompt for prompt in _PROMPTS if prompt.name == asked.name), None)
        if prompt is None:
            names = ", ".join(prompt.name for prompt in _PROMPTS)
            raise MCPError(types.INVALID_PARAMS, f"there is no prompt {asked.name[:40]!r}; there are: {names}")
        where = await self._where(ctx)
        resumed = ""
        if asked.name == "resume":
            other = (asked.arguments or {}).get("session", "").strip()
            if not other:
                raise MCPError(types.INVALID_PARAMS, "the prompt resume needs the argument session: an id")
            resumed = await self._asked(lambda: self._binding.resume(where, other), "resume")
            await self._watching.changed(await self._asked(lambda: self._binding.key(where), "resume"))
        page = await self._asked(lambda: self._binding.page(where), _CURRENT_URI)
        text = f"{resumed}\n\n{page}" if resumed else page
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=prompt.description, messages=[message])

    async def _complete(self, ctx: _Context, asked: types.CompleteRequestParams) -> types.CompleteResult:
        where = await self._where(ctx)
        ids = await self._asked(lambda: self._binding.sessions(where, asked.argument.value), "sessions")
        some = types.Completion(values=ids[:_MAX_COMPLETIONS], total=len(ids), has_more=len(ids) > _MAX_COMPLETIONS)
        return types.CompleteResult(completion=some)

    # -- inside ------------------------------------------------------------------------------------------------

    async def _asked(self, question: Callable[[], T], what: str) -> T:
        """Return the answer, off the event loop; what is wrong as an error of MCP."""
        try:
            return await to_thread.run_sync(question)
        except OperationError as error:
            raise MCPError(types.INVALID_PARAMS, visible(str(error)), {"uri": what}) from None
        except (HudkitError, OSError) as error:
            raise MCPError(types.INTERNAL_ERROR, visible(str(error)), {"uri": what}) from None

    async def _where(self, ctx: _Context) -> RequestSession:
        session = self._binding.own
        if ctx.request is not None:
            # By the client's own name first: MCP's session ends with the connection, and the conversation may go on.
            by_mcp = f"mcp_{ctx.request.headers.get(_MCP_SESSION_HEADER, '')}"
            session = _session_name(ctx.request) or self._binding.fixed or by_mcp
        project = self._binding.project or self._projects.get(session)
        if project is None:
            project = self._projects.setdefault(session, await _root(ctx) or Path.cwd())
        client = ctx.session.client_params
        return RequestSession(session, project, client.client_info.name if client is not None else "")


async def _require_session(ctx: _Context, call_next: Callable[[_Context], Any]) -> Any:
    """Refuse a request on HTTP that belongs to no session.

    A client there has a session: MCP's own, or one that it names. The versions of MCP that keep none (from
    2026-07-28) are refused to a client that names none; it then takes one that does, as the specification says."""
    stateless = ctx.request is not None and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    if stateless and not _session_name(ctx.request):
        raise MCPError(
            types.UNSUPPORTED_PROTOCOL_VERSION,
            f"without a session only versions up to {HANDSHAKE_PROTOCOL_VERSIONS[-1]} are served; "
            f"name one in the header {_SESSION_HEADER} or as ?{_SESSION_QUERY}=",
            {"supported": list(HANDSHAKE_PROTOCOL_VERSIONS), "requested": ctx.protocol_version},
        )
    return await call_next(ctx)


def _session_name(request: Any) -> str:
    """Return the session that a request on HTTP names; empty where it names none."""
    return str(request.headers.get(_SESSION_HEADER) or request.query_params.get(_SESSION_QUERY) or "").strip()


def _resource(uri: str) -> tuple[str, bool]:
    """Return which session's HUD an address means (empty: this one's), and whether as data. Raises `MCPError`."""
    as_json = uri.endswith(_JSON_SUFFIX)
    plain = uri.removesuffix(_JSON_SUFFIX)
    if plain == _CURRENT_URI:
        return "", as_json
    if plain.startswith(_SESSION_URI) and len(plain) > len(_SESSION_URI):
        return unquote(plain.removeprefix(_SESSION_URI)), as_json
    hint = f"there are: {_CURRENT_URI}, {_SESSION_URI}ID, and both with {_JSON_SUFFIX}"
    raise MCPError(types.INVALID_PARAMS, f"there is no resource {visible(uri[:100])!r}; {hint}", {"uri": uri})


def _connection(ctx: _Context) -> str:
    return str(ctx.request.headers.get(_MCP_SESSION_HEADER, "")) if ctx.request is not None else ""


async def _root(ctx: _Context) -> Path | None:
    """Return the first root of the client that is a directory here; `None` where it tells none in time."""
    able = ctx.session.client_capabilities
    if able is None or able.roots is None or ctx.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
        return None
    try:
        answer = await ctx.session.send_request(
            types.ListRootsRequest(),
            types.ListRootsResult,
            request_read_timeout_seconds=_ROOTS_TIMEOUT_S,
            metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
        )
    except MCPError as error:
        _LOG.info("the client does not tell where it works: %s", error)
        return None
    places = (Path(unquote(urlsplit(str(root.uri)).path)) for root in answer.roots)
    # `Path.is_dir` raises for a root that may not be looked at.
    return next((place for place in places if place.is_absolute() and os.path.isdir(place)), None)  # noqa: PTH112
