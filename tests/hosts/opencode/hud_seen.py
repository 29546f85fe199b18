"""What the tests with real OpenCode let an agent call, and what a session was asked."""

from __future__ import annotations

from opencode_host import OpenCode

from hudkit.models.captured_request import CapturedRequest
from hudkit.models.scripted_answers import ScriptedCall


def hud(operation: str, **args: str) -> ScriptedCall:
    return ScriptedCall("hud", {"tool": operation, "args": args})


def bash(command: str) -> ScriptedCall:
    return ScriptedCall("bash", {"command": command, "description": "run"})


def typed(request: CapturedRequest) -> list[str]:
    """The first line of each of the user's messages."""
    return [text.partition("\n")[0] for role, text in request.messages if role == "user"]


def asked(host: OpenCode, session: str) -> list[str]:
    """The ids of the user's messages."""
    return [message["info"]["id"] for message in host.messages(session) if message["info"]["role"] == "user"]
