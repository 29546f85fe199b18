"""Every extension point: what a plugin is given, what it may change, and the call that runs the plugins in order.

A plugin is an object with methods, or a mapping with functions, named after hooks: `def hook(context, output)`, plain
or `async`. Plugins run in the order of their registration; each gets its own copy of the context and of the output as
the plugins before it left it, and changes that copy in place. The copy is taken over only when the call ended in
time without an exception and every field has the type that its struct says; otherwise everything that the plugin
changed in this call is dropped, the failure is listed under the plugin's name, and the next plugin goes on from the
output as it was before.

Each plugin has a thread with an event loop of its own, where all its calls run: one that blocks holds up nobody else.
What a plugin awaits must therefore belong to that loop (see `Hooks.within`).
"""

from __future__ import annotations

from hudkit.agent.hooks.plugin_runner import Failure, Hooks, PluginFault, on_events, replaces_messages
from hudkit.agent.hooks.points import (
    HOOKS,
    Auth,
    AuthRequest,
    Autocontinue,
    ChatMessage,
    ChatPart,
    CommandExecuteBefore,
    CompactionContext,
    CompactionPrompt,
    FinishedPart,
    Headers,
    Hook,
    HookEvent,
    HookInput,
    HookOutput,
    HostSettings,
    Json,
    Messages,
    ModelCallContext,
    ModelLimits,
    Models,
    NewMessage,
    NoOutput,
    Params,
    PartText,
    PermissionAsk,
    PermissionStatus,
    ShellEnv,
    ShellVariables,
    System,
    ToolArguments,
    ToolDefinition,
    ToolDescription,
    ToolExecuteAfter,
    ToolExecuteBefore,
    ToolOutput,
    ToolReference,
    Tools,
    ToolsRequest,
)

__all__ = [
    "HOOKS",
    "Auth",
    "AuthRequest",
    "Autocontinue",
    "ChatMessage",
    "ChatPart",
    "CommandExecuteBefore",
    "CompactionContext",
    "CompactionPrompt",
    "Failure",
    "FinishedPart",
    "Headers",
    "Hook",
    "HookEvent",
    "HookInput",
    "HookOutput",
    "Hooks",
    "HostSettings",
    "Json",
    "Messages",
    "ModelCallContext",
    "ModelLimits",
    "Models",
    "NewMessage",
    "NoOutput",
    "Params",
    "PartText",
    "PermissionAsk",
    "PermissionStatus",
    "PluginFault",
    "ShellEnv",
    "ShellVariables",
    "System",
    "ToolArguments",
    "ToolDefinition",
    "ToolDescription",
    "ToolExecuteAfter",
    "ToolExecuteBefore",
    "ToolOutput",
    "ToolReference",
    "Tools",
    "ToolsRequest",
    "on_events",
    "replaces_messages",
]
