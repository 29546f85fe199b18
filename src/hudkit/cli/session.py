"""What `hudkit run` and `hudkit chat` have in common: their options, and who sees and answers."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hudkit.cli.common import user_settings

if TYPE_CHECKING:
    from hudkit.agent.terminal.permission_prompt import PermissionAnswerer
    from hudkit.agent.terminal.session_runner import SessionRequest, SessionRunner
    from hudkit.agent.terminal.view import JsonView


def session_request(args: argparse.Namespace) -> SessionRequest:
    """Return what the options of `session_arguments` ask for. Raises `ConfigError`."""
    from hudkit.agent.terminal.session_runner import SessionRequest, permission_rules

    return SessionRequest(
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
        args.summaries,
    )


def sitting_of(
    args: argparse.Namespace,
    name: str,
    *,
    facts: JsonView | None = None,
    ask: PermissionAnswerer | None = None,
    quiet: bool = False,
) -> SessionRunner:
    """Make and return the runner of a session at the terminal. Raises `ConfigError`.

    `facts` prints JSON lines for programs; without it, people are shown what happens. `ask` is who answers questions,
    where it is not who sits at the terminal.
    """
    from hudkit.agent.terminal.panel import Panel
    from hudkit.agent.terminal.permission_prompt import AllowAll, DenyAll, PermissionPrompt
    from hudkit.agent.terminal.screen import Screen, is_terminal
    from hudkit.agent.terminal.session_runner import DataLocation, SessionRunner
    from hudkit.agent.terminal.view import LiveView, PlainView, View

    wish = session_request(args)
    place = DataLocation(args.data, user_settings(name))
    panel = Panel(place.log if args.hud else None, place.settings)
    out, progress = Screen(sys.stdout), Screen(sys.stderr)
    live = out.terminal and facts is None
    seen: LiveView | PlainView = LiveView(out, panel.line) if live else PlainView(out, progress, quiet=quiet)
    view: View = facts or seen
    if args.yes:
        ask = AllowAll()
    elif ask is None and is_terminal(sys.stdin) and (out.terminal or is_terminal(sys.stderr)):
        ask = PermissionPrompt(seen)
    return SessionRunner(wish, place, view, ask or DenyAll(seen.problem), panel)
