"""Every extension point: what a plugin is given, what it may change, and how long it may take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

Json: TypeAlias = dict[str, Any]
"""Plain data: text, numbers, true, false, null, lists and objects of these."""


class Given(msgspec.Struct, frozen=True):
    """What a hook is told. It cannot be changed."""


class Output(msgspec.Struct):
    """What a hook may change, in place."""


class Event(Given, frozen=True):
    """Something happened: `message.updated`, `session.created`, `session.compacted`, `tool.finished`, and so on."""

    type: str
    session_id: str = ""
    properties: Json = {}


class Nothing(Output):
    """There is nothing to change."""


class Settings(Output):
    """The settings of the host, as plain data, before they are read."""

    settings: Json = {}


class ToolsWanted(Given, frozen=True):
    session_id: str = ""
    agent: str = ""


class ToolDefinition(msgspec.Struct):
    """A tool of a plugin. `run` is called with the arguments and a `ToolExecuteBefore`; it returns text."""

    name: str
    description: str
    parameters: Json
    run: Callable[..., Any]


class Tools(Output):
    """Tools to add, by name; a name that is taken already is refused by the host."""

    tools: dict[str, ToolDefinition] = {}


class AuthWanted(Given, frozen=True):
    """A model of this `provider` is about to be used for the first time."""

    provider: str


class Auth(Output):
    """What a provider is to be called with; `None`: as the environment says. Never written to any file or log."""

    api_key: str | None = None
    base_url: str | None = None
    headers: dict[str, str] = {}


class ModelLimits(msgspec.Struct):
    """Tokens; 0: unknown."""

    context: int = 0
    input: int = 0
    output: int = 0


class Models(Output):
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


class Chat(Given, frozen=True):
    """The session, agent and model of a call; the session is empty where none is meant (generation of agents)."""

    session_id: str = ""
    agent: str = ""
    model: str = ""
    message_id: str = ""


class NewMessage(Output):
    """The user's message before it is stored."""

    parts: list[ChatPart] = []


class Params(Output):
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    options: Json = {}


class Headers(Output):
    headers: dict[str, str] = {}


class PermissionAsk(Given, frozen=True):
    """A call that the rules neither allow nor deny. What they deny is not asked here."""

    session_id: str
    tool: str
    patterns: tuple[str, ...]
    call_id: str = ""
    title: str = ""


class PermissionStatus(Output):
    """`ask` goes on to the user."""

    status: Literal["ask", "allow", "deny"] = "ask"


class CommandExecuteBefore(Given, frozen=True):
    """A command of the user (`/name arguments`) before it becomes a message."""

    session_id: str
    command: str
    arguments: str = ""


class ToolExecuteBefore(Given, frozen=True):
    session_id: str
    tool: str
    call_id: str


class ToolArguments(Output):
    """The call's arguments; they are validated, and permission is asked, after this hook."""

    arguments: Json = {}


class ToolExecuteAfter(Given, frozen=True):
    session_id: str
    tool: str
    call_id: str
    arguments: Json = {}


class ToolOutput(Output):
    """What the model will read, and what people will see."""

    text: str = ""
    title: str = ""
    metadata: Json = {}


class ShellEnv(Given, frozen=True):
    """A command is about to run in the directory `cwd`."""

    cwd: str
    session_id: str = ""
    call_id: str = ""


class Env(Output):
    """Variables to set beside those that a command gets."""

    env: dict[str, str] = {}


class ToolNamed(Given, frozen=True):
    tool: str


class ToolTold(Output):
    """How a tool is described to the model."""

    description: str = ""
    parameters: Json = {}


class Messages(Output):
    messages: list[ChatMessage] = []


class System(Output):
    """The blocks of the system prompt; the first is the stable header: who leaves it keeps the provider's cache."""

    system: list[str] = []


class Compacting(Given, frozen=True):
    session_id: str
    auto: bool = False
    overflow: bool = False


class CompactionPrompt(Output):
    """`prompt` replaces the whole prompt; `context` is added behind the usual one where `prompt` is `None`."""

    context: list[str] = []
    prompt: str | None = None


class Autocontinue(Output):
    """Whether work goes on by itself after a compaction, and with which words."""

    proceed: bool = True
    text: str | None = None


class TextDone(Given, frozen=True):
    session_id: str
    message_id: str
    part_id: str


class Text(Output):
    text: str = ""


class Hook(msgspec.Struct, frozen=True):
    """One extension point: the structs that go with it, and the seconds that a plugin may take."""

    given: type[Given]
    output: type[Output]
    seconds: float = 5.0


HOOKS: Mapping[str, Hook] = {
    "event": Hook(Event, Nothing),
    "config": Hook(Given, Settings, 10.0),
    "tool": Hook(ToolsWanted, Tools, 10.0),
    "auth": Hook(AuthWanted, Auth, 30.0),
    "provider": Hook(AuthWanted, Models, 30.0),
    "chat_message": Hook(Chat, NewMessage),
    "chat_params": Hook(Chat, Params),
    "chat_headers": Hook(Chat, Headers),
    "permission_ask": Hook(PermissionAsk, PermissionStatus, 30.0),
    "command_execute_before": Hook(CommandExecuteBefore, NewMessage),
    "tool_execute_before": Hook(ToolExecuteBefore, ToolArguments),
    "tool_execute_after": Hook(ToolExecuteAfter, ToolOutput),
    "shell_env": Hook(ShellEnv, Env),
    "tool_definition": Hook(ToolNamed, ToolTold),
    "messages_transform": Hook(Chat, Messages),
    "system_transform": Hook(Chat, System),
    "session_compacting": Hook(Compacting, CompactionPrompt, 10.0),
    "compaction_autocontinue": Hook(Compacting, Autocontinue),
    "text_complete": Hook(TextDone, Text),
}
"""Every hook by name, in the order of 002."""
