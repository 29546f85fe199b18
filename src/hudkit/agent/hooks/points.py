"""Every extension point: what a plugin is given, what it may change, and how long it may take.

`HOOKS` has them all. Plugins are written against the names of hooks and the fields of their structs: they stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

Json: TypeAlias = dict[str, Any]
"""Plain data: text, numbers, true, false, null, lists and objects of these."""


class HookInput(msgspec.Struct, frozen=True):
    """What a hook is given. It cannot be changed."""


class HookOutput(msgspec.Struct):
    """What a hook may change, in place."""


class HookEvent(HookInput, frozen=True):
    """Something happened: `message.updated`, `session.created`, `session.compacted`, `tool.finished`, and so on.

    `properties` are plain data that says more, by the type of the event.
    """

    type: str
    session_id: str = ""
    properties: Json = {}


class NoOutput(HookOutput):
    """There is nothing to change."""


class HostSettings(HookOutput):
    """The settings of the host, as plain data, before they are read."""

    settings: Json = {}


class ToolsRequest(HookInput, frozen=True):
    """An epoch of a session begins, and its tools are collected."""

    session_id: str = ""
    agent: str = ""


class ToolDefinition(msgspec.Struct):
    """A tool of a plugin. `run` is called with the arguments and a `ToolExecuteBefore`; it returns text."""

    name: str
    description: str
    parameters: Json
    run: Callable[..., Any]


class Tools(HookOutput):
    """Tools to add, by name; a name that is taken already is refused by the host."""

    tools: dict[str, ToolDefinition] = {}


class AuthRequest(HookInput, frozen=True):
    """A model of this `provider` is about to be opened for the first time."""

    provider: str


class Auth(HookOutput):
    """What a provider is to be called with; `None`: as the environment says. Never written to any file or log."""

    api_key: str | None = None
    base_url: str | None = None
    headers: dict[str, str] = {}


class ModelLimits(msgspec.Struct):
    """Tokens; 0: unknown."""

    context: int = 0
    input: int = 0
    output: int = 0


class Models(HookOutput):
    """Models that a provider has beside the known ones, by name."""

    models: dict[str, ModelLimits] = {}


class ChatPart(msgspec.Struct):
    """A piece of a message. `text` is what the model reads: words, reasoning, or what a call gave back."""

    kind: Literal["text", "reasoning", "tool", "file", "marker"]
    text: str = ""
    id: str = ""
    synthetic: bool = False
    tool: str = ""
    call_id: str = ""
    arguments: Json = {}
    status: str = ""
    media_type: str = ""
    meta: Json = {}


class ChatMessage(msgspec.Struct):
    """A message as it is about to be sent. Changes count for one request; nothing stored is touched."""

    role: Literal["user", "assistant"]
    parts: list[ChatPart] = []
    id: str = ""
    created: int = 0
    summary: bool = False


class ModelCallContext(HookInput, frozen=True):
    """The session, agent and model of a call; the session is empty where none is meant (generation of agents)."""

    session_id: str = ""
    agent: str = ""
    model: str = ""
    message_id: str = ""


class NewMessage(HookOutput):
    """The user's message before it is stored."""

    parts: list[ChatPart] = []


class Params(HookOutput):
    """The settings of one request; `None`: as the provider has them. `options` go to it as they are."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    options: Json = {}


class Headers(HookOutput):
    """HTTP headers of one request."""

    headers: dict[str, str] = {}


class PermissionAsk(HookInput, frozen=True):
    """A call that the rules neither allow nor deny. What they deny is not asked here."""

    session_id: str
    tool: str
    patterns: tuple[str, ...]
    call_id: str = ""
    title: str = ""


class PermissionStatus(HookOutput):
    """`ask` goes on to the user."""

    status: Literal["ask", "allow", "deny"] = "ask"


class CommandExecuteBefore(HookInput, frozen=True):
    """A command of the user (`/name arguments`) before it becomes a message."""

    session_id: str
    command: str
    arguments: str = ""


class ToolExecuteBefore(HookInput, frozen=True):
    """A call of a tool as the model asked for it, before it is checked."""

    session_id: str
    tool: str
    call_id: str


class ToolArguments(HookOutput):
    """The call's arguments; they are validated, and permission is asked, after this hook."""

    arguments: Json = {}


class ToolExecuteAfter(HookInput, frozen=True):
    """A call that has ended, with the arguments that it ran with."""

    session_id: str
    tool: str
    call_id: str
    arguments: Json = {}


class ToolOutput(HookOutput):
    """What the model will read, and what people will see."""

    text: str = ""
    title: str = ""
    metadata: Json = {}


class ShellEnv(HookInput, frozen=True):
    """A command is about to run in the directory `cwd`."""

    cwd: str
    session_id: str = ""
    call_id: str = ""


class ShellVariables(HookOutput):
    """Variables to set beside those that a command gets."""

    env: dict[str, str] = {}


class ToolReference(HookInput, frozen=True):
    """A tool that is about to be described, by its name."""

    tool: str


class ToolDescription(HookOutput):
    """How a tool is described to the model."""

    description: str = ""
    parameters: Json = {}


class Messages(HookOutput):
    """The messages of one request, oldest first."""

    messages: list[ChatMessage] = []


class System(HookOutput):
    """The blocks of the system prompt; the first is the stable header: who leaves it keeps the provider's cache."""

    system: list[str] = []


class CompactionContext(HookInput, frozen=True):
    """A compaction: `auto` if the loop began it, `overflow` if a provider refused a request as too long."""

    session_id: str
    auto: bool = False
    overflow: bool = False


class CompactionPrompt(HookOutput):
    """`prompt` replaces the whole prompt; `context` is added behind the usual one where `prompt` is `None`."""

    context: list[str] = []
    prompt: str | None = None


class Autocontinue(HookOutput):
    """Whether work goes on by itself after a compaction, and with which words."""

    proceed: bool = True
    text: str | None = None


class FinishedPart(HookInput, frozen=True):
    """A text of the model that is complete."""

    session_id: str
    message_id: str
    part_id: str


class PartText(HookOutput):
    """That text, before it is stored."""

    text: str = ""


class Hook(msgspec.Struct, frozen=True):
    """One extension point: the structs that go with it, and the seconds that a plugin may take."""

    input: type[HookInput]
    output: type[HookOutput]
    seconds: float = 5.0


HOOKS: Mapping[str, Hook] = {
    "event": Hook(HookEvent, NoOutput),
    "config": Hook(HookInput, HostSettings, 10.0),
    "tool": Hook(ToolsRequest, Tools, 10.0),
    "auth": Hook(AuthRequest, Auth, 30.0),
    "provider": Hook(AuthRequest, Models, 30.0),
    "chat_message": Hook(ModelCallContext, NewMessage),
    "chat_params": Hook(ModelCallContext, Params),
    "chat_headers": Hook(ModelCallContext, Headers),
    "permission_ask": Hook(PermissionAsk, PermissionStatus, 30.0),
    "command_execute_before": Hook(CommandExecuteBefore, NewMessage),
    "tool_execute_before": Hook(ToolExecuteBefore, ToolArguments),
    "tool_execute_after": Hook(ToolExecuteAfter, ToolOutput),
    "shell_env": Hook(ShellEnv, ShellVariables),
    "tool_definition": Hook(ToolReference, ToolDescription),
    "messages_transform": Hook(ModelCallContext, Messages),
    "system_transform": Hook(ModelCallContext, System),
    "session_compacting": Hook(CompactionContext, CompactionPrompt, 10.0),
    "compaction_autocontinue": Hook(CompactionContext, Autocontinue),
    "text_complete": Hook(FinishedPart, PartText),
}
"""Every hook by name. One that may wait for a person or for a network has more time."""
