"""Conversations of the real Claude Agent SDK, with the command line that it brings, over a scripted model."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import msgspec
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from hudkit.context.caching import CallCost
from hudkit.models.scripted_answers import Answer, Refusal, ScriptedCall, ScriptedReply, says
from hudkit.testing.host_conformance import FULL_WINDOW_TOKENS, HostConformance, HostWorkspace

try:
    import claude_agent_sdk as sdk

    from hudkit.hosts.claude_agent_sdk import HudHooks
except ImportError as error:
    if os.environ.get("CI"):
        raise
    pytest.skip(f"the Claude Agent SDK is missing: {error}", allow_module_level=True)

MODEL = "claude-sonnet-4-5"
TOO_LONG = Refusal(400, "invalid_request_error", "", "prompt is too long: 210000 tokens > 200000 maximum")
"""Where the window is full, Claude Code 2.1 waits until the provider says so."""

_NAMES = UUID("5e551000-0000-4000-8000-000000000000")
_TOOLS = {
    "read": ("Read", {"path": "file_path"}),
    "write": ("Write", {"path": "file_path"}),
    "edit": ("Edit", {"path": "file_path", "old": "old_string", "new": "new_string"}),
    "run": ("Bash", {}),
}


def session_id(place: HostWorkspace, session: str) -> str:
    """The SDK's id of a session by the name that a test gives it."""
    return str(uuid5(_NAMES, f"{place.folder}/{session}"))


def environment(place: HostWorkspace) -> dict[str, str]:
    """Variables with which Claude Code knows nobody and asks nobody but the scripted model."""
    home = place.folder / "home"
    home.mkdir(parents=True, exist_ok=True)
    return {
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "ANTHROPIC_BASE_URL": place.url,
        "ANTHROPIC_API_KEY": "sk-none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }


def transcript_of(place: HostWorkspace, session: str) -> Path | None:
    """The file of a session, by the name that a test gives it, where it was begun."""
    files = (place.folder / "home" / ".claude" / "projects").glob(f"*/{session_id(place, session)}.jsonl")
    return next(iter(files), None)


def sdk_options(place: HostWorkspace, session: str, **more: Any) -> sdk.ClaudeAgentOptions:
    """Options for a session, which goes on where it was begun."""
    begun = transcript_of(place, session) is not None
    which = {"resume": session_id(place, session)} if begun else {"session_id": session_id(place, session)}
    given: dict[str, Any] = {
        "cwd": place.project,
        "env": environment(place),
        "model": MODEL,
        "permission_mode": "bypassPermissions",
        "setting_sources": [],
        "system_prompt": {"type": "preset", "preset": "claude_code", "append": place.instructions},
    }
    return sdk.ClaudeAgentOptions(**{**given, **which, **more})


class SdkTalk:
    """A conversation that a client of the SDK has, driven from a test's own thread."""

    def __init__(self, portal: BlockingPortal, client: sdk.ClaudeSDKClient, hooks: HudHooks, id: str) -> None:
        self.portal, self.client, self.hooks, self.id = portal, client, hooks, id
        self.is_open = True
        self.messages: list[Any] = []

    def say(self, text: str) -> str:
        """Send a prompt, or a command such as /compact, and return the agent's last words."""
        return self.portal.call(self._say, text)

    async def _say(self, text: str) -> str:
        await self.client.query(text)
        words = ""
        async for message in self.client.receive_response():
            self.messages.append(message)
            if isinstance(message, sdk.ResultMessage):
                assert not message.is_error, message
                words = message.result or ""
        return words


@contextmanager
def conversation(
    place: HostWorkspace,
    session: str,
    *,
    hud: bool = True,
    resume: str = "",
    remaining_tokens: Any = "hud",
    instead: dict[Any, Any] | None = None,
    **options: Any,
) -> Iterator[SdkTalk]:
    """An open conversation in a process of its own; the same session again goes on where it stood.

    The hooks `instead` stand in the place of the HUD's own.
    """
    hud_hooks = HudHooks(place.log, resume=resume, remaining_tokens=remaining_tokens)
    given = sdk_options(place, session, **options)
    if hud:
        given = hud_hooks.options(given)
    if instead is not None:
        given = replace(given, hooks={**instead, "PreToolUse": (given.hooks or {})["PreToolUse"]})
    client = sdk.ClaudeSDKClient(given)
    try:
        with start_blocking_portal() as portal, portal.wrap_async_context_manager(client):
            talk = SdkTalk(portal, client, hud_hooks, session_id(place, session))
            yield talk
            talk.is_open = False
    finally:
        hud_hooks.close()


class ClaudeAgentSdkHost(HostConformance):
    """How the suite drives the SDK."""

    host = "claude-code"
    shape = "anthropic"
    keeps_texts = True
    small_window = large_window = (200_000, 8_000)
    most_cost = ((7, 1.05), (20, 1.03))

    @contextmanager
    def open(self, place: HostWorkspace, session: str, *, hud: bool = True, resume: str = "") -> Iterator[SdkTalk]:
        """A conversation of the SDK."""
        with conversation(place, session, hud=hud, resume=resume) as talk:
            yield talk

    def call(self, what: str, **arguments: Any) -> ScriptedCall:
        name, names = _TOOLS[what]
        return ScriptedCall(name, {names.get(key, key): value for key, value in arguments.items()})

    def router_call(self, router: str, arguments: Any) -> ScriptedCall:
        return ScriptedCall(f"mcp__hudkit__{router}", arguments)

    def delegate(self, prompt: str) -> ScriptedCall:
        arguments = {"description": "a part of it", "prompt": prompt, "subagent_type": "general-purpose"}
        return ScriptedCall("Agent", {**arguments, "run_in_background": False})

    def fill_window(self, reply: ScriptedReply) -> Sequence[Answer]:
        usage = CallCost(0, 0, self.tokens(FULL_WINDOW_TOKENS), 50)
        return (msgspec.structs.replace(reply, usage=usage), TOO_LONG)

    def summary(self, text: str) -> ScriptedReply:
        return says(f"<analysis>\nThe conversation.\n</analysis>\n\n<summary>\n{text}\n</summary>")

    def settle(self, talk: SdkTalk) -> None:
        if talk.is_open:  # else it was closed, and has recorded all
            talk.portal.call(talk.hooks.flush)

    def measure(self, talk: SdkTalk) -> None:
        talk.portal.call(talk.hooks.read_usage, talk.client)

    def _path(self, place: HostWorkspace, name: str) -> str:
        return str(place.project / name)
