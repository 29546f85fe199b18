"""The commands: one file a command, one line in this table.

A file here declares its command: what it takes, an example, what carries it out. It imports argparse,
`hudkit.cli.parsing`, `hudkit.cli.options` and modules as light as these at its top, so that `--help` is printed at
once; what the command works with is imported when it runs.
"""

from __future__ import annotations

import argparse
from importlib import import_module

from hudkit.cli.parsing import CliCommand, CommandParser

GROUPS: dict[str, dict[str, str]] = {
    "start": {
        "demo": "show what the HUD would have been on a recorded day of work",
        "replay": "show what the HUD would have been on your own recorded history",
        "install": "install the HUD in an agent's host",
        "uninstall": "remove the HUD from an agent's host",
        "doctor": "check that everything is in place, and say how to fix what is not",
        "upgrade": "say which command brings the newest version; nothing is changed",
    },
    "look": {
        "show": "show the frame of a session, now or at any event",
        "inspect": "look at sessions, calls and compactions in the browser",
        "watch": "follow the HUD of a session in a terminal beside its agent",
        "log": "list the events of a session",
        "memory": "search, read and compare what was said or done in any session",
        "compactions": "list what each compaction dropped and kept; undo one",
    },
    "keep": {
        "resume": "hand the task of a session on to the next one of the project, in any host",
        "review": "say which of what was heard in a session is right, and change or drop the rest",
        "pin": "keep one line of yours in sight of a session's agent",
        "project": "show or set the defaults that all sessions of a project share",
        "sections": "list custom sections, trust a project's, try one",
        "config": "show the settings in force, and check their files",
    },
    "agents": {
        "run": "give an agent one prompt and print its answer",
        "chat": "talk with an agent, with its HUD in sight",
        "acp": "serve hudkit's own agent to an editor that speaks the Agent Client Protocol",
        "sessions": "list, search, export, fork and delete the sessions of hudkit's own agent",
        "rooms": "create a world of agents, play it, watch it in the browser, export it",
    },
    "the log": {
        "verify": "check that the log is complete and unchanged",
        "backup": "copy the log while it is in use, verified, and keep the newest copies",
        "restore": "put a backup in the place of the log, which stays beside it",
        "repair": "write a damaged log anew with every event that verifies",
        "archive": "compress the log below each session's last compaction; nothing is lost",
        "redact": "remove a secret from the log, physically",
    },
    "service": {
        "gateway": "relay between a client with a base URL and its provider, with the HUD in the calls",
        "mcp": "serve the HUD's tools to any MCP client, over standard input and output or HTTP",
        "hook": "answer a hook of a host; hosts start it themselves",
        "statusline": "the line below Claude Code's prompt",
        "serve": "run the daemon that hosts talk to; they start it on demand",
        "stop": "ask the daemon to stop",
    },
    "help": {
        "help": "print the help of a command, or of an operation of one",
        "completion": "print a script with which a shell completes commands and options",
    },
}
"""Every command, with what it does, in the groups in which `hudkit --help` shows them."""

COMMANDS = {name: summary for group in GROUPS.values() for name, summary in group.items()}
"""Every command, with what it does. The command `x` is `COMMAND` of the module `hudkit.cli.commands.x`, which is
imported only when the command is named."""


def load_command(name: str) -> CliCommand:
    """Import the file of a command and return what it says of the command."""
    command: CliCommand = import_module(f"hudkit.cli.commands.{name}").COMMAND
    return command


def build_parser(name: str, command: CliCommand | None = None) -> argparse.ArgumentParser:
    """Return the parser of one command; what it reads has the command's `run`."""
    command = command or load_command(name)
    parser = CommandParser(
        prog=f"hudkit {name}",
        description=command.description(COMMANDS[name]),
        epilog=command.epilog,
    )
    parser.set_defaults(run=command.run)
    command.arguments(parser)
    return parser


def whole_parser() -> argparse.ArgumentParser:
    """Return one parser with all commands and their options, as shells complete them."""
    parser = CommandParser(prog="hudkit", description="A heads-up display for LLM agents.")
    parser.add_argument("-V", "--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, summary in COMMANDS.items():
        load_command(name).arguments(commands.add_parser(name, help=summary))
    return parser
