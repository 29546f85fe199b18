"""What `hudkit run` and `hudkit chat` have in common: their options, and who sees and answers."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hudkit.cli.common import user_settings

if TYPE_CHECKING:
    from hudkit.agent.terminal.session_runner import SessionRunner


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
