"""`hudkit install`: put the HUD into an agent's host, with a manifest of every change."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from hudkit.cli.parsing import CliCommand
from hudkit.hosts.mcp import CLIENT_NAMES

_DETAILS = """\
`hudkit install mcp --client NAME` tells a client of the Model Context Protocol to start `hudkit mcp`, which gives its
agent the tools `hud` and `memory`. OpenCode, Claude Code, Codex and pi get more: `hudkit install opencode`, `hudkit
install claude-code`, `hudkit install codex`, `hudkit install pi`.

`hudkit install claude-code` goes through `claude plugin`; with --statusline the line below Claude Code's prompt shows
window, forecast, task and cache, below what a status line of yours prints.

`hudkit install codex` puts an MCP server and hooks into Codex's configuration. Codex asks you to trust each of our
hooks: open it, and say yes in /hooks. With --compact-prompt it also sets the prompt of Codex's compaction, so that
the summary leaves out what the HUD keeps; a prompt of your own stays as it is, and nothing is installed.

`hudkit install --agents-md`, with a host or alone, writes a short marked block into the AGENTS.md of this project, or
brings it up to date: it says when an agent calls `hud` and `memory`. `hudkit uninstall --agents-md` gives the file
its former bytes; so does `hudkit uninstall HOST` for every project, where hudkit is installed in no other host."""

HOSTS: Mapping[str, str] = {
    "claude-code": "Claude Code follows with its next session.",
    "codex": "Start Codex again.",
    "mcp": "The client reads its configuration when it starts.",
    "opencode": "OpenCode reads its configuration when it starts.",
    "pi": "Start pi again, or type /reload in it.",
}
"""Each host, and what is to be known after a change."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    host_arguments(parser)
    parser.add_argument("--statusline", action="store_true", help="with claude-code: also the status line")
    parser.add_argument("--anyway", action="store_true", help="install even from an environment that looks temporary")
    parser.add_argument(
        "--compact-prompt",
        action="store_true",
        help="with codex: also the prompt of its compaction, which says what the HUD keeps",
    )


COMMAND = CliCommand(
    example="hudkit install opencode --dry-run",
    details=_DETAILS,
    arguments=_arguments,
    run="hudkit.cli.install:run",
)


def host_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that installing and uninstalling share."""
    parser.add_argument("host", nargs="?", choices=sorted(HOSTS), help="the agent's host")
    parser.add_argument(
        "--agents-md",
        action="store_true",
        help="the block in this project's AGENTS.md that tells how the tools are used",
    )
    parser.add_argument("--client", choices=CLIENT_NAMES, help="with mcp: the client")
    parser.add_argument("--project", action="store_true", help="for the project in this directory, not for the user")
    parser.add_argument("--dry-run", action="store_true", help="print what would change, as a unified diff")
    parser.add_argument("--json", action="store_true", help="print facts as JSON")
