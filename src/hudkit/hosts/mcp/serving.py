"""The MCP server: each request goes to its session, and what comes of it goes back in MCP's words."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import mcp_types as types
import msgspec
from anyio import to_thread
from mcp.server import Server, ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from hudkit import __version__
from hudkit.compose import visible
from hudkit.errors import HudkitError, OperationError
from hudkit.hosts.mcp.binding import Binding, Where
from hudkit.hosts.mcp.offered import (
    AS_JSON,
    CURRENT,
    INSTRUCTIONS,
    JSON,
    MARKDOWN,
    PROMPTS,
    RESOURCES,
    SESSION,
    TEMPLATES,
    TOOLS,
)
from hudkit.hosts.mcp.watching import Watching

NAME_HEADER = "hudkit-session"
"""The header, and `NAME_QUERY` the parameter of the address, by which a client on HTTP names its session."""
NAME_QUERY = "session"
MCP_HEADER = "mcp-session-id"

ROOTS_SECONDS = 5.0
"""How long a client is waited for when it is asked where it works."""

MOST_COMPLETIONS = 100

_LOG = logging.getLogger("hudkit.hosts.mcp")

Context = ServerRequestContext[Any, Any]

T = TypeVar("T")


class Serving:
    """The handlers of one server. Requests may come at once; the log's work is done in threads."""

    def __init__(self, binding: Binding) -> None:
        self._binding = binding
        self._projects: dict[str, Path] = {}
        self._bus = InMemorySubscriptionBus()
        self._watching = Watching(self._bus)

    def server(self) -> Server[Any]:
        """A server of the SDK with these handlers."""
        made: Server[Any] = Server(
            "hudkit",
            version=__version__,
            title="hudkit",
            description="A heads-up display for LLM agents: what must not be forgotten.",
            instructions=INSTRUCTIONS,
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
        made.middleware.append(needs_session)
        return made

    @asynccontextmanager
    async def _lifespan(self, _: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        try:
            yield {}
        finally:
            self._binding.close()

    # -- tools -------------------------------------------------------------------------------------------------

    async def _tools(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=TOOLS)

    async def _call(self, ctx: Context, asked: types.CallToolRequestParams) -> types.CallToolResult:
        if asked.name not in [one.name for one in TOOLS]:
            names = ", ".join(one.name for one in TOOLS)
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

    async def _resources(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=RESOURCES)

    async def _templates(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=TEMPLATES)

    async def _read(self, ctx: Context, asked: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        of, as_json = _resource(asked.uri)
        where = await self._where(ctx)
        if as_json:
            facts = await self._asked(lambda: self._binding.facts(where, of), asked.uri)
            text, kind = msgspec.json.encode(facts).decode(), JSON
        else:
            text, kind = await self._asked(lambda: self._binding.page(where, of), asked.uri), MARKDOWN
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=asked.uri, mime_type=kind, text=text)]
        )

    async def _subscribe(self, ctx: Context, asked: types.SubscribeRequestParams) -> types.EmptyResult:
        of, _ = _resource(asked.uri)
        where = await self._where(ctx)
        key = await self._asked(lambda: self._binding.key(where, of), asked.uri)
        self._watching.add(_connection(ctx), asked.uri, key, ctx.session)
        return types.EmptyResult()

    async def _unsubscribe(self, ctx: Context, asked: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self._watching.remove(_connection(ctx), asked.uri)
        return types.EmptyResult()

    # -- prompts -----------------------------------------------------------------------------------------------

    async def _prompts(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=PROMPTS)

    async def _prompt(self, ctx: Context, asked: types.GetPromptRequestParams) -> types.GetPromptResult:
        found = next((one for one in PROMPTS if one.name == asked.name), None)
        if found is None:
            names = ", ".join(one.name for one in PROMPTS)
            raise MCPError(types.INVALID_PARAMS, f"there is no prompt {asked.name[:40]!r}; there are: {names}")
        where = await self._where(ctx)
        said = ""
        if asked.name == "resume":
            other = (asked.arguments or {}).get("session", "").strip()
            if not other:
                raise MCPError(types.INVALID_PARAMS, "the prompt resume needs the argument session: an id")
            said = await self._asked(lambda: self._binding.resume(where, other), "resume")
            await self._watching.changed(await self._asked(lambda: self._binding.key(where), "resume"))
        page = await self._asked(lambda: self._binding.page(where), CURRENT)
        text = f"{said}\n\n{page}" if said else page
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=found.description, messages=[message])

    async def _complete(self, ctx: Context, asked: types.CompleteRequestParams) -> types.CompleteResult:
        where = await self._where(ctx)
        ids = await self._asked(lambda: self._binding.sessions(where, asked.argument.value), "sessions")
        some = types.Completion(values=ids[:MOST_COMPLETIONS], total=len(ids), has_more=len(ids) > MOST_COMPLETIONS)
        return types.CompleteResult(completion=some)

    # -- inside ------------------------------------------------------------------------------------------------

    async def _asked(self, question: Callable[[], T], what: str) -> T:
        """The answer, off the event loop; what is wrong as an error of MCP."""
        try:
            return await to_thread.run_sync(question)
        except OperationError as error:
            raise MCPError(types.INVALID_PARAMS, visible(str(error)), {"uri": what}) from None
        except (HudkitError, OSError) as error:
            raise MCPError(types.INTERNAL_ERROR, visible(str(error)), {"uri": what}) from None

    async def _where(self, ctx: Context) -> Where:
        session = self._binding.own
        if ctx.request is not None:
            by_mcp = f"mcp_{ctx.request.headers.get(MCP_HEADER, '')}"
            session = named(ctx.request) or self._binding.fixed or by_mcp
        project = self._binding.project or self._projects.get(session)
        if project is None:
            project = self._projects.setdefault(session, await _root(ctx) or Path.cwd())
        told = ctx.session.client_params
        return Where(session, project, told.client_info.name if told is not None else "")


async def needs_session(ctx: Context, call_next: Callable[[Context], Any]) -> Any:
    """On HTTP a client has a session: MCP's own, or one that it names. The versions of MCP that keep none (from
    2026-07-28) are refused to a client that names none; it then takes one that does, as the specification says."""
    stateless = ctx.request is not None and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    if stateless and not named(ctx.request):
        raise MCPError(
            types.UNSUPPORTED_PROTOCOL_VERSION,
            f"without a session only versions up to {HANDSHAKE_PROTOCOL_VERSIONS[-1]} are served; "
            f"name one in the header {NAME_HEADER} or as ?{NAME_QUERY}=",
            {"supported": list(HANDSHAKE_PROTOCOL_VERSIONS), "requested": ctx.protocol_version},
        )
    return await call_next(ctx)


def named(request: Any) -> str:
    """The session that a request on HTTP names; empty where it names none."""
    return str(request.headers.get(NAME_HEADER) or request.query_params.get(NAME_QUERY) or "").strip()


def _resource(uri: str) -> tuple[str, bool]:
    """Which session's HUD an address means (empty: this one's), and whether as data. Raises `MCPError`."""
    as_json = uri.endswith(AS_JSON)
    plain = uri.removesuffix(AS_JSON)
    if plain == CURRENT:
        return "", as_json
    if plain.startswith(SESSION) and len(plain) > len(SESSION):
        return unquote(plain.removeprefix(SESSION)), as_json
    hint = f"there are: {CURRENT}, {SESSION}ID, and both with {AS_JSON}"
    raise MCPError(types.INVALID_PARAMS, f"there is no resource {visible(uri[:100])!r}; {hint}", {"uri": uri})


def _connection(ctx: Context) -> str:
    return str(ctx.request.headers.get(MCP_HEADER, "")) if ctx.request is not None else ""


async def _root(ctx: Context) -> Path | None:
    """The first root of the client that is a directory here; `None` where it tells none in time."""
    able = ctx.session.client_capabilities
    if able is None or able.roots is None or ctx.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
        return None
    try:
        told = await ctx.session.send_request(
            types.ListRootsRequest(),
            types.ListRootsResult,
            request_read_timeout_seconds=ROOTS_SECONDS,
            metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
        )
    except MCPError as error:
        _LOG.info("the client does not tell where it works: %s", error)
        return None
    places = (Path(unquote(urlsplit(str(root.uri)).path)) for root in told.roots)
    return next((place for place in places if place.is_absolute() and place.is_dir()), None)
