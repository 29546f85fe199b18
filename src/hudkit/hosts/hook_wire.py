"""Hooks of hosts that call us: one JSON shape, whichever way it comes, and one answer.

Claude Code, the Claude Agent SDK and Codex send nearly the same JSON to a hook, so that is the shape: a command's
standard input, the body of a request to the daemon's port, the arguments of a call of the MCP tool `hud_hook`. The
answer is the hosts' own, too: text for the model is `hookSpecificOutput.additionalContext`. A caller of ours says
more of itself in an object `hud`, and is answered with one. Plain values, no I/O.

The events and fields are those of Claude Code 2.1 and Codex 0.169, as their types and requests have them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hudkit.hosts.wire import RequestRefused, decode

HOOK_VERSION = 1
"""The version of the object `hud`, in both directions. It rises when a field changes its meaning or goes away."""

HOOK_HOSTS = ("claude-code", "codex")
"""The hosts whose hooks are answered."""

MAX_CONTEXT_TOKENS = 2_400
"""Most tokens of a text for the model: Codex puts what has more than 2,500 into a file."""

_Id = Annotated[str, Meta(max_length=200)]
_Path = Annotated[str, Meta(max_length=4096)]


class HostEvent(Enum):
    """What has happened, in the words of no host."""

    SESSION_STARTED = "session started"
    SESSION_RESUMED = "session resumed"
    SESSION_CLEARED = "session cleared"
    WINDOW_COMPACTED = "window compacted"
    """The window begins anew behind a compaction."""
    PROMPT = "prompt"
    TOOL_DONE = "tool done"
    TOOL_FAILED = "tool failed"
    TOOLS_DONE = "tools done"
    """All tool calls of a response have their results."""
    COMPACTION_STARTS = "compaction starts"
    COMPACTION_ENDED = "compaction ended"
    SUBAGENT_STARTED = "sub-agent started"
    SUBAGENT_ENDED = "sub-agent ended"
    TURN_ENDED = "turn ended"
    USAGE = "usage"
    SESSION_ENDED = "session ended"
    OTHER = "other"


_EVENTS = {
    "UserPromptSubmit": HostEvent.PROMPT,
    "PostToolUse": HostEvent.TOOL_DONE,
    "PostToolUseFailure": HostEvent.TOOL_FAILED,
    "PostToolBatch": HostEvent.TOOLS_DONE,
    "PreCompact": HostEvent.COMPACTION_STARTS,
    "PostCompact": HostEvent.COMPACTION_ENDED,
    "SubagentStart": HostEvent.SUBAGENT_STARTED,
    "SubagentStop": HostEvent.SUBAGENT_ENDED,
    "Stop": HostEvent.TURN_ENDED,
    "Usage": HostEvent.USAGE,  # of our own callers
    "SessionEnd": HostEvent.SESSION_ENDED,
}
_STARTS = {
    "resume": HostEvent.SESSION_RESUMED,
    "clear": HostEvent.SESSION_CLEARED,
    "compact": HostEvent.WINDOW_COMPACTED,
}

TAKES_CONTEXT = frozenset(
    {"SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "SubagentStart"}
)
"""Events whose answer may have text for the model; hosts drop it elsewhere, or refuse the answer."""


class CallerFacts(msgspec.Struct, frozen=True):
    """What a caller of ours says of itself: the object `hud` of a hook.

    `base`: it has a place of its own for the base, which does not change within a window. `used` and `window` are
    tokens as the host measures them (`None`: read from the transcript). `tells_remaining`: the host tells the model
    how many tokens remain (`None`: the transcript says whether it does). `lacks_base`: it has no base to show, as a
    new process has none. `echoes`: where a person asked for a compaction, the model is shown the instructions for it
    afterwards, too.
    """

    v: int = HOOK_VERSION
    base: bool = False
    used: Annotated[int, Meta(ge=0, lt=2**53)] | None = None
    window: Annotated[int, Meta(ge=0, lt=2**53)] | None = None
    tells_remaining: bool | None = None
    lacks_base: bool = False
    echoes: bool = False


class HookPayload(msgspec.Struct, frozen=True):
    """What a host tells a hook; fields that are not named here are passed over, as they are the host's.

    `transcript_path` is the session's file; `source` says how a session starts, `trigger` who asked for a compaction;
    `agent_id` is filled where a sub-agent is meant.
    """

    hook_event_name: _Id
    session_id: Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]
    cwd: _Path = ""
    transcript_path: _Path | None = None
    source: _Id | None = None
    trigger: _Id | None = None
    model: str | None = None
    tool_name: _Id | None = None
    tool_use_id: _Id | None = None
    agent_id: _Id | None = None
    agent_type: _Id | None = None
    agent_transcript_path: _Path | None = None
    hud: CallerFacts | None = None

    @property
    def event(self) -> HostEvent:
        """Return what has happened."""
        if self.hook_event_name == "SessionStart":
            return _STARTS.get(self.source or "", HostEvent.SESSION_STARTED)
        return _EVENTS.get(self.hook_event_name, HostEvent.OTHER)

    @property
    def is_ours(self) -> bool:
        """Return whether a caller of ours asks."""
        return self.hud is not None


class HookAnswer(msgspec.Struct, frozen=True):
    """What a hook is answered; all empty: there is nothing new.

    `context` is for the model. The other fields are for a caller of ours: `base` is to be shown from now on (`None`:
    as before), `instructions` go into the prompt of the compaction, `message` is a line for the person, once.
    `hides_remaining`: the host's own lines on the tokens that remain are to be left out.
    """

    context: str = ""
    base: str | None = None
    instructions: str = ""
    message: str = ""
    epoch: int = 0
    tokens: int = 0
    hides_remaining: bool = False


NOTHING_NEW = HookAnswer()
"""The answer where there is nothing to tell."""


def read_hook(body: bytes | Mapping[str, Any]) -> HookPayload:
    """Return the hook that a host sent, as JSON or as a mapping.

    Raises `RequestRefused` where it is not JSON, names no event or session, or has a field of another type; the
    message names the place and never the content.
    """
    payload = decode(body if isinstance(body, bytes) else json.dumps(body).encode(), HookPayload)
    if payload.hud is not None and payload.hud.v != HOOK_VERSION:
        message = f"the hook speaks version {payload.hud.v}"
        raise RequestRefused(
            message, hint=f"This hudkit speaks version {HOOK_VERSION}; start the host again", status=426
        )
    return payload


def write_answer(payload: HookPayload, answer: HookAnswer) -> dict[str, Any]:
    """Return what the host, or the caller of ours, is sent; `{}` where there is nothing new."""
    written: dict[str, Any] = {}
    if answer.context and payload.hook_event_name in TAKES_CONTEXT:
        written["hookSpecificOutput"] = {
            "hookEventName": payload.hook_event_name,
            "additionalContext": answer.context,
        }
    if payload.hud is not None:
        own: dict[str, Any] = {"v": HOOK_VERSION, "epoch": answer.epoch, "tokens": answer.tokens}
        if answer.base is not None:
            own["base"] = answer.base
        if answer.instructions:
            own["instructions"] = answer.instructions
        if answer.message:
            own["message"] = answer.message
        if answer.hides_remaining:
            own["hides_remaining"] = True
        written["hud"] = own
    elif answer.message and not written:
        written["systemMessage"] = answer.message
    return written
