"""The server on standard input and output, as a client starts it."""

from __future__ import annotations

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server


def run(server: Server[object]) -> None:
    """Serve until the client closes the input."""

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(serve)
