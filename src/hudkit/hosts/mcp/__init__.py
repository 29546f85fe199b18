"""hudkit as an MCP server: the two routers, the HUD as a resource and as a prompt, over stdio and streamable HTTP."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hudkit.errors import ConfigError

if TYPE_CHECKING:
    from mcp.server import Server

    from hudkit.api import Hud

MAJOR = 2
"""The major version of the `mcp` package that this is written for."""

CLIENT_NAMES = (
    "claude-code",
    "claude-desktop",
    "codex",
    "copilot",
    "cursor",
    "gemini",
    "lmstudio",
    "opencode",
    "vscode",
    "windsurf",
    "zed",
)
"""The clients that `hudkit install mcp` knows; `client_install` says how each is told."""


def server(
    hud: Hud | str | os.PathLike[str] | None = None,
    *,
    session: str = "",
    project: str | os.PathLike[str] | None = None,
) -> Server[Any]:
    """Return an MCP server of the official SDK, to be run on any of its transports.

    `hud` is an open `Hud`, the path of a log, or nothing: the user's own log. `session` binds all clients to one
    session (not given: each connection has its own); `project` is the directory that they work in (not given: the
    client's first root that is a directory here, else the current one). Raises `ConfigError` where there is no SDK.
    """
    require_sdk()
    from hudkit.hosts.mcp.request_handlers import McpHandlers
    from hudkit.hosts.mcp.session_binding import SessionBinding

    return McpHandlers(SessionBinding(hud, session=session, project=project)).server()


def require_sdk() -> None:
    """Make sure that the SDK is there. Raises `ConfigError` with the extra that brings it."""
    from importlib.metadata import PackageNotFoundError, version

    from hudkit.installation import install_hint

    hint = install_hint("mcp")
    try:
        sdk_version = version("mcp")
    except PackageNotFoundError:
        raise ConfigError("the package mcp is not installed", hint=hint) from None
    if sdk_version.partition(".")[0] != str(MAJOR):
        raise ConfigError(f"the package mcp is of version {sdk_version}, not {MAJOR}", hint=hint)
