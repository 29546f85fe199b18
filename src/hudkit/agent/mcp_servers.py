"""MCP servers as tools: each is started or reached by the official SDK; its tools stand beside the loop's own.

A tool is called `SERVER_TOOL`. A server's words about its tools are those of somebody else: that a tool only reads
is believed as far as the user trusts the server (`McpServer.trust`).
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec

from hudkit.agent.file_text import escape_hidden
from hudkit.agent.permissions import PermissionRule
from hudkit.agent.tools.tool import RequiredPermission, Tool, ToolContext, ToolInput, ToolOutcome
from hudkit.agent.wildcard import matches_wildcard
from hudkit.compose import shorten, visible
from hudkit.config import McpServer
from hudkit.errors import ConfigError, ToolError
from hudkit.installation import install_hint

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult
    from mcp.types import Tool as OfferedTool

_MAX_NAME = 64
"""Characters of a tool's name that every provider takes."""

_MAX_DESCRIPTION = 4_000
_CLOSE_SECONDS = 5.0


class _ServerToolInput(ToolInput, frozen=True):
    """Arguments as the model gave them: the server judges them by its own schema."""

    values: dict[str, Any]


class _ServerTool(Tool, frozen=True, kw_only=True):
    """A tool of a server, with the schema that the server gave."""

    schema: dict[str, Any]

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments, a new value each time."""
        return dict(self.schema)

    def parse(self, arguments: object) -> ToolInput:
        """Return the arguments of a call. Raises `ToolError` where they are no object."""
        values = self.decode(arguments)
        if not isinstance(values, dict):
            raise ToolError(f"the arguments of {self.name} are no object")
        return _ServerToolInput(values)


class McpServers:
    """The servers of one loop, from its opening to its end. `problems` says which are not there, and why."""

    def __init__(self, servers: Mapping[str, McpServer]) -> None:
        self.problems: list[tuple[str, str]] = []
        self._connections = {name: _Connection(name, server) for name, server in servers.items()}
        self._reading: set[str] = set()

    async def connect(self) -> tuple[Tool, ...]:
        """Reach all servers at once and return their tools; what cannot be reached in time is a problem.

        Raises `ConfigError` where the SDK is not installed, or a server is not described.
        """
        if not self._connections:
            return ()
        try:
            import mcp  # noqa: F401
        except ImportError as error:
            raise ConfigError(f"MCP servers need the package mcp ({error})", hint=install_hint("mcp")) from None
        connections = self._connections.values()
        for connection in connections:
            connection.check()
        offers = await asyncio.gather(*(each.open() for each in connections), return_exceptions=True)
        tools: list[Tool] = []
        for connection, offered in zip(connections, offers, strict=True):
            if isinstance(offered, ToolError):
                self.problems.append((f"the MCP server {connection.name}", str(offered)))
            elif isinstance(offered, BaseException):
                raise offered
            else:
                tools += self._tools_of(connection, offered)
        return tuple(tools)

    @property
    def rules(self) -> tuple[PermissionRule, ...]:
        """Return the rules that hold in front of the user's: what is asked about, by the servers' trust."""
        rules = [
            PermissionRule(f"{_plain(name)}_*", "*", "ask")
            for name, connection in self._connections.items()
            if connection.server.trust != "all"
        ]
        return (*rules, *(PermissionRule(name, "*", "allow") for name in sorted(self._reading)))

    async def close(self) -> None:
        """End all servers; return nothing."""
        await asyncio.gather(*(each.close() for each in self._connections.values()))

    def _tools_of(self, connection: _Connection, offered: Sequence[OfferedTool]) -> list[Tool]:
        tools = []
        for tool in offered:
            wanted = connection.server.tools
            if wanted and not any(matches_wildcard(pattern, tool.name) for pattern in wanted):
                continue
            reads_only = tool.annotations is not None and tool.annotations.read_only_hint is True
            name = _tool_name(connection.name, tool.name)
            if reads_only and connection.server.trust == "reads":
                self._reading.add(name)
            tools.append(connection.tool(name, tool, reads_only=reads_only))
        return tools


class _Connection:
    """One server. A task of its own holds it, since who opens a connection of the SDK has to close it."""

    def __init__(self, name: str, server: McpServer) -> None:
        self.name = name
        self.server = server
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._opening = asyncio.Lock()

    def check(self) -> None:
        """Return nothing. Raises `ConfigError` where it is neither a command nor an address, or both."""
        if bool(self.server.command) == bool(self.server.url):
            raise ConfigError(
                f"the MCP server {visible(self.name)} has to have a command or a url", hint="One of the two"
            )

    async def open(self) -> Sequence[OfferedTool]:
        """Start or reach the server, and return its tools. Raises `ToolError`."""
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[Sequence[OfferedTool]] = loop.create_future()
        self._stop = asyncio.Event()
        self._task = asyncio.ensure_future(self._hold(ready, self._stop))
        try:
            return await asyncio.wait_for(asyncio.shield(ready), self.server.seconds)
        except TimeoutError:
            await self.close()
            raise ToolError(f"it did not answer within {self.server.seconds:g} s") from None

    def tool(self, name: str, offered: OfferedTool, *, reads_only: bool) -> Tool:
        """Return one of its tools as the loop's."""
        about = visible(offered.description or offered.title or offered.name, breaks=True)

        async def run(arguments: _ServerToolInput, _: ToolContext) -> ToolOutcome:
            return await self._call(offered.name, arguments.values)

        def needs(_: ToolInput, __: ToolContext) -> Sequence[RequiredPermission]:
            return (RequiredPermission(name, ("*",), f"{offered.name} of the MCP server {visible(self.name)}"),)

        schema = dict(offered.input_schema)
        return _ServerTool(
            name, shorten(about, _MAX_DESCRIPTION), _ServerToolInput, run, needs, reads_only=reads_only, schema=schema
        )

    async def close(self) -> None:
        """End the connection, and the process behind it; return nothing."""
        self._stop.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=_CLOSE_SECONDS)
            self._task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._task

    async def _hold(self, ready: asyncio.Future[Sequence[OfferedTool]], stop: asyncio.Event) -> None:
        stderr = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 (closed below)
        try:
            async with AsyncExitStack() as stack:
                client = await stack.enter_async_context(self._described(stack, stderr))
                tools = (await client.list_tools()).tools
                self._client = client
                if not ready.done():
                    ready.set_result(tools)
                await stop.wait()
        except Exception as error:
            if not ready.done():
                ready.set_exception(ToolError(f"it cannot be reached: {_reason(error, _last_line(stderr))}"))
        finally:
            self._client = None
            stderr.close()

    def _described(self, stack: AsyncExitStack, stderr: Any) -> Client:
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client
        from mcp.client.streamable_http import streamable_http_client

        server = self.server
        if server.command:
            started = StdioServerParameters(command=server.command, args=list(server.args), env=dict(server.env))
            # what it prints beside the protocol must not reach the terminal
            return Client(stdio_client(started, errlog=stderr))
        if not server.headers:
            return Client(server.url)
        import httpx2

        http = httpx2.AsyncClient(headers=dict(server.headers), timeout=server.seconds)
        stack.push_async_callback(http.aclose)
        return Client(streamable_http_client(server.url, http_client=http))

    async def _call(self, tool: str, arguments: dict[str, Any]) -> ToolOutcome:
        from mcp.types import CONNECTION_CLOSED

        client = self._client
        if client is None or self._task is None or self._task.done():
            async with self._opening:  # it ended: once more, for whoever calls first
                if self._client is None:
                    await self.close()
                    await self.open()
                client = self._client
        if client is None:
            raise ToolError(f"the MCP server {visible(self.name)} is not there")
        try:
            result = await client.call_tool(tool, arguments)
        except Exception as error:
            if getattr(error, "code", CONNECTION_CLOSED) == CONNECTION_CLOSED:
                self._client = None  # what it did is not known: the call is not made again, the next one starts it
            raise ToolError(f"the MCP server {visible(self.name)} gave no answer: {_reason(error)}") from None
        text = _text(result)
        if result.is_error:
            raise ToolError(text or "the server says that it failed, and not why")
        return ToolOutcome(text, f"{tool} of {visible(self.name)}")


def _text(result: CallToolResult) -> str:
    """What a server answered: its texts, what is no text by its kind and size; else the structured answer."""
    pieces = []
    for block in result.content:
        if block.type == "text":
            pieces.append(block.text)
        elif block.type == "image" or block.type == "audio":
            pieces.append(f"[{block.mime_type}, {len(block.data) * 3 // 4:,} bytes: not shown]")
        elif block.type == "resource_link":
            pieces.append(f"[{block.name}: {block.uri}]")
        elif block.type == "resource":
            pieces.append(getattr(block.resource, "text", f"[{block.resource.uri}: not shown]"))
    if not pieces and result.structured_content is not None:
        pieces.append(msgspec.json.encode(result.structured_content, enc_hook=str).decode())
    return escape_hidden("\n".join(pieces))


def _reason(error: BaseException, last_line: str = "") -> str:
    """Why something failed, in one line: the innermost error, and what the program stderr last."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    words = f"{type(error).__name__} {error}".strip()
    return shorten(visible(f"{words} ({last_line})" if last_line else words), 300)


def _last_line(stderr: Any) -> str:
    with suppress(OSError, ValueError):
        stderr.seek(0)
        lines = stderr.read().strip().splitlines()
        return str(lines[-1]) if lines else ""
    return ""


def _plain(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]+", "_", name)


def _tool_name(server: str, tool: str) -> str:
    """Return the name of a server's tool for models; a long one ends in a digest of itself."""
    name = f"{_plain(server)}_{_plain(tool)}"
    if len(name) <= _MAX_NAME:
        return name
    digest = blake2b(name.encode(), digest_size=4).hexdigest()
    return f"{name[: _MAX_NAME - 9]}_{digest}"
