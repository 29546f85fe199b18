"""What the tests with real OpenCode let an agent call, and what a session was asked."""

from __future__ import annotations

from opencode_host import OpenCode

from hudkit.testing.captured import Captured
from hudkit.testing.replies import Call


def hud(operation: str, **args: str) -> Call:
    return Call("hud", {"tool": operation, "args": args})


def bash(command: str) -> Call:
    return Call("bash", {"command": command, "description": "run"})


def typed(request: Captured) -> list[str]:
    """The first line of each of the user's messages."""
    return [text.partition("\n")[0] for role, text in request.messages if role == "user"]


def asked(host: OpenCode, session: str) -> list[str]:
    """The ids of the user's messages."""
    return [message["info"]["id"] for message in host.messages(session) if message["info"]["role"] == "user"]
