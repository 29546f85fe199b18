"""What `hudkit run` and `hudkit chat` have in common: their options, and who sees and answers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hudkit.cli.common import user_settings

if TYPE_CHECKING:
    from hudkit.agent.terminal.session_runner import SessionRunner


def session_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command that works in a session to a parser."""
    parser.add_argument("--model", default="", metavar="NAME", help="the model to use, as provider:name")
    parser.add_argument(
        "--script", type=Path, metavar="FILE", help="a scripted model, from a TOML or JSON lines file"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--session", default="", metavar="ID", help="continue this session (its id, or a part of it)")
    which.add_argument(
        "--continue", dest="last", action="store_true", help="continue the last session of this directory"
    )
    parser.add_argument("--agent", default="", metavar="NAME", help="the agent to use (default: build)")
    for action in ("allow", "deny"):
        help = (
            f'{action} a tool, or only its calls that match, as in "bash pytest *"; repeatable, the last match counts'
        )
        parser.add_argument(f"--{action}", dest="rules", action=_Rule, const=action, metavar="RULE", help=help)
    parser.add_argument(
        "--yes",
        action="store_true",
        help="allow everything that you would be asked about; what is denied stays denied",
    )
    parser.add_argument(
        "--confine",
        action="store_true",
        help="let commands that you are not asked about write only in the project and in temporary directories",
    )
    parser.add_argument("--no-hud", dest="hud", action="store_false", help="let the agent work without a HUD")
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="where sessions and their HUD are stored (default: the user's data directory)",
    )
    parser.set_defaults(rules=[])


class _Rule(argparse.Action):
    """Rules in the order in which they were given."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        namespace.rules = [*namespace.rules, (self.const, str(values))]


def sitting_of(args: argparse.Namespace, name: str, *, facts: int = 0, quiet: bool = False) -> SessionRunner:
    """Make and return the runner of a session at the terminal. Raises `ConfigError`.

    `facts` is the schema version of JSON lines, 0 for people.
    """
    from hudkit.agent.terminal.panel import Panel
    from hudkit.agent.terminal.permission_prompt import AllowAll, DenyAll, PermissionAnswerer, PermissionPrompt
    from hudkit.agent.terminal.screen import Screen, is_terminal
    from hudkit.agent.terminal.session_runner import DataLocation, SessionRequest, SessionRunner, permission_rules
    from hudkit.agent.terminal.view import JsonView, LiveView, PlainView, View

    wish = SessionRequest(
        Path.cwd(),
        args.data,
        args.model,
        args.script,
        args.session,
        args.last,
        args.agent,
        permission_rules(args.rules),
        args.hud,
        # with --yes nobody looks at any command
        ("all" if args.yes else "rules") if args.confine else "off",
    )
    place = DataLocation(args.data, user_settings(name))
    panel = Panel(place.log if args.hud else None, place.settings)
    out, progress = Screen(sys.stdout), Screen(sys.stderr)
    live = out.terminal and not facts
    seen: LiveView | PlainView = LiveView(out, panel.line) if live else PlainView(out, progress, quiet=quiet)
    view: View = JsonView(sys.stdout, facts) if facts else seen
    ask: PermissionAnswerer = AllowAll() if args.yes else DenyAll(seen.problem)
    if not args.yes and is_terminal(sys.stdin) and (out.terminal or is_terminal(sys.stderr)):
        ask = PermissionPrompt(seen)
    return SessionRunner(wish, place, view, ask, panel)
