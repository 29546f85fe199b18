"""Every extension point: what a plugin is given, what it may change, and the call that runs the plugins in order.

A plugin is an object with methods, or a mapping with functions, named after hooks: `def hook(given, output)`, plain
or `async`. Plugins run in the order of their registration; each gets its own copy of what was given and of the output
as the plugins before it left it, and changes that copy in place. The copy is taken over only when the call ended in
time without an exception and every field has the type that its struct says; otherwise everything that the plugin
changed in this call is dropped, the failure is kept under the plugin's name, and the next plugin goes on from the
output as it was before.

Each plugin has a thread with an event loop of its own, where all its calls run: one that blocks holds up nobody else.
What a plugin awaits must therefore belong to that loop (see `Hooks.within`).
"""

from __future__ import annotations

from hudkit.agent.hooks.calling import Failure, Hooks
from hudkit.agent.hooks.points import (
    HOOKS,
    Auth,
    AuthWanted,
    Autocontinue,
    Chat,
    ChatMessage,
    ChatPart,
    CommandExecuteBefore,
    Compacting,
    CompactionPrompt,
    Env,
    Event,
    Given,
    Headers,
    Hook,
    Json,
    Messages,
    ModelLimits,
    Models,
    NewMessage,
    Nothing,
    Output,
    Params,
    PermissionAsk,
    PermissionStatus,
    Settings,
    ShellEnv,
    System,
    Text,
    TextDone,
    ToolArguments,
    ToolDefinition,
    ToolExecuteAfter,
    ToolExecuteBefore,
    ToolNamed,
    ToolOutput,
    Tools,
    ToolsWanted,
    ToolTold,
)
from hudkit.agent.hooks.threads import PluginFault

__all__ = [
    "HOOKS",
    "Auth",
    "AuthWanted",
    "Autocontinue",
    "Chat",
    "ChatMessage",
    "ChatPart",
    "CommandExecuteBefore",
    "Compacting",
    "CompactionPrompt",
    "Env",
    "Event",
    "Failure",
    "Given",
    "Headers",
    "Hook",
    "Hooks",
    "Json",
    "Messages",
    "ModelLimits",
    "Models",
    "NewMessage",
    "Nothing",
    "Output",
    "Params",
    "PermissionAsk",
    "PermissionStatus",
    "PluginFault",
    "Settings",
    "ShellEnv",
    "System",
    "Text",
    "TextDone",
    "ToolArguments",
    "ToolDefinition",
    "ToolExecuteAfter",
    "ToolExecuteBefore",
    "ToolNamed",
    "ToolOutput",
    "ToolTold",
    "Tools",
    "ToolsWanted",
]
