"""The clients that `hudkit install mcp` knows: where each keeps its servers, and how it writes one.

Sources, by client: modelcontextprotocol.io/docs/develop/connect-local-servers (Claude Desktop),
code.claude.com/docs/en/mcp, cursor.com/docs/context/mcp, zed.dev/docs/ai/mcp, developers.openai.com/codex/mcp,
code.visualstudio.com/docs/copilot/reference/mcp-configuration (VS Code, and where Copilot CLI has its own),
geminicli.com/docs/tools/mcp-server, opencode.ai/docs/mcp-servers, docs.windsurf.com/windsurf/cascade/mcp,
lmstudio.ai/docs/app/mcp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from hudkit.hosts.installing.directories import config_home, home

NAME = "hudkit"
"""What the server is called in a client's configuration."""


class Started(msgspec.Struct, frozen=True):
    """How a client starts the server: the program, its arguments, and the variables that it would not have."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = {}

    def plain(self, **more: Any) -> dict[str, Any]:
        """As most clients write it; `more` comes first."""
        return {**more, "command": self.command, "args": list(self.args)} | (
            {"env": dict(self.env)} if self.env else {}
        )


Home = Callable[[Mapping[str, str], str], Path]
"""From the user's variables and the platform (as `sys.platform`) to a directory."""


class Client(msgspec.Struct, frozen=True):
    """A client: the `directory` of the user's configuration and its file's `names` there (the first that there is, is
    meant), the names below a project (none: it has no such), under which `key` servers stand, and how one is written.
    `toml` is another format than JSON."""

    title: str
    directory: Home
    names: tuple[str, ...]
    project: tuple[str, ...]
    key: str
    entry: Callable[[Started], dict[str, Any]]
    toml: bool = False


def _support(env: Mapping[str, str], platform: str) -> Path:
    """Where desktop programs keep their data."""
    return home(env) / "Library" / "Application Support" if platform == "darwin" else config_home(env)


def _below_home(name: str, variable: str = "") -> Home:
    """A directory in the user's home, or the one that a variable names."""

    def found(env: Mapping[str, str], _: str) -> Path:
        named = env.get(variable) if variable else None
        return Path(named) if named else home(env) / name

    return found


def _plain(started: Started) -> dict[str, Any]:
    return started.plain()


def _typed(started: Started) -> dict[str, Any]:
    return started.plain(type="stdio")


def _copilot(started: Started) -> dict[str, Any]:
    return started.plain(type="local") | {"tools": ["*"]}


def _opencode(started: Started) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "local", "command": [started.command, *started.args], "enabled": True}
    return made | ({"environment": dict(started.env)} if started.env else {})


_OPENCODE = ("opencode.jsonc", "opencode.json")

CLIENTS: Mapping[str, Client] = {
    "claude-code": Client(
        "Claude Code",
        _below_home("", "CLAUDE_CONFIG_DIR"),
        (".claude.json",),
        (".mcp.json",),
        "mcpServers",
        _typed,
    ),
    "claude-desktop": Client(
        "Claude Desktop",
        lambda env, platform: _support(env, platform) / "Claude",
        ("claude_desktop_config.json",),
        (),
        "mcpServers",
        _plain,
    ),
    "codex": Client(
        "Codex",
        _below_home(".codex", "CODEX_HOME"),
        ("config.toml",),
        (".codex/config.toml",),
        "mcp_servers",
        _plain,
        toml=True,
    ),
    "copilot": Client(
        "Copilot CLI",
        _below_home(".copilot", "COPILOT_HOME"),
        ("mcp-config.json",),
        (),
        "mcpServers",
        _copilot,
    ),
    "cursor": Client("Cursor", _below_home(".cursor"), ("mcp.json",), (".cursor/mcp.json",), "mcpServers", _plain),
    "gemini": Client(
        "Gemini CLI", _below_home(".gemini"), ("settings.json",), (".gemini/settings.json",), "mcpServers", _plain
    ),
    "lmstudio": Client("LM Studio", _below_home(".lmstudio"), ("mcp.json",), (), "mcpServers", _plain),
    "opencode": Client(
        "OpenCode",
        lambda env, _: config_home(env) / "opencode",
        (*_OPENCODE, "config.json"),
        (*_OPENCODE, *(f".opencode/{name}" for name in _OPENCODE)),
        "mcp",
        _opencode,
    ),
    "vscode": Client(
        "VS Code",
        lambda env, platform: _support(env, platform) / "Code" / "User",
        ("mcp.json",),
        (".vscode/mcp.json",),
        "servers",
        _typed,
    ),
    "windsurf": Client("Windsurf", _below_home(".codeium/windsurf"), ("mcp_config.json",), (), "mcpServers", _plain),
    "zed": Client(
        "Zed",
        lambda env, _: config_home(env) / "zed",
        ("settings.json",),
        (".zed/settings.json",),
        "context_servers",
        _plain,
    ),
}
