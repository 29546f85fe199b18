"""A small MCP server of tests: on standard input and output, or on HTTP at the port that is its argument."""

from __future__ import annotations

import os
import sys

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("kiln")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def temperature(kiln: int) -> str:
    """How hot a kiln is."""
    return f"kiln {kiln}: 980 °C, asked with {os.environ.get('KILN_KEY', 'no key')}"


@server.tool()
def fire(cone: int, fast: bool = False) -> dict[str, object]:
    """Fire the kiln."""
    if cone > 14:
        raise ValueError("no cone is hotter than 14")
    return {"cone": cone, "fast": fast}


@server.tool()
def who_asks(context: Context) -> str:
    """Tell the header that came with this call."""
    request = context.request_context.request
    return str(request.headers.get("x-kiln-key")) if request is not None else "nobody"


@server.tool()
def explode() -> str:
    """End the server."""
    os._exit(3)


@server.tool()
def read_everything(pages: int) -> str:
    """A long answer."""
    return "x" * pages * 1_000 + "\x1b[31m the end"


if __name__ == "__main__":
    print("kiln server: this is no JSON", file=sys.stderr)
    if sys.argv[1:]:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
