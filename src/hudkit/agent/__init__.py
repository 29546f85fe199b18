"""hudkit's own agent: a loop of model calls and tools with permissions, compaction, plugins and sub-agents.

    from hudkit.agent import AgentLoop, LoopOptions, hud_plugin

    options = LoopOptions(plugins=[("hud", hud_plugin(data / "hudkit.db"))])
    loop = await AgentLoop.open(".", "anthropic:claude-sonnet-4-6", data=data, options=options)
    ended = await loop.prompt("Make the tests pass.")

These names are the public ones; the modules behind them may change. Each is loaded when it is first asked for:
importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hudkit.agent.agent_definitions import AgentDefinition
    from hudkit.agent.events import AgentEvent, EventSink, EventStream, TurnEnded
    from hudkit.agent.file_undo import UndoResult
    from hudkit.agent.hud_hooks import HudPlugin, hud_plugin
    from hudkit.agent.loop import AgentLoop
    from hudkit.agent.permissions import PermissionReply, PermissionRequest, PermissionRule, parse_rules
    from hudkit.agent.plugins import PluginClient, PluginInput, discover_plugins, trust_plugin
    from hudkit.agent.records import Attachment, StoredMessage, StoredSession
    from hudkit.agent.request_log import LoggedRequest, RequestLog
    from hudkit.agent.run_context import LoopOptions, LoopSettings
    from hudkit.agent.session_deletion import delete_session, trim_sessions
    from hudkit.agent.session_export import export_session
    from hudkit.agent.session_store import SessionStore
    from hudkit.agent.tools import TOOLS, Tool, ToolContext, ToolLimits, ToolOutcome, function_tool
    from hudkit.config import LanguageServer, McpServer
    from hudkit.models import open_model

_MODULES = {
    "AgentDefinition": "hudkit.agent.agent_definitions",
    "AgentEvent": "hudkit.agent.events",
    "AgentLoop": "hudkit.agent.loop",
    "Attachment": "hudkit.agent.records",
    "EventSink": "hudkit.agent.events",
    "EventStream": "hudkit.agent.events",
    "HudPlugin": "hudkit.agent.hud_hooks",
    "LanguageServer": "hudkit.config",
    "LoggedRequest": "hudkit.agent.request_log",
    "LoopOptions": "hudkit.agent.run_context",
    "LoopSettings": "hudkit.agent.run_context",
    "McpServer": "hudkit.config",
    "PermissionReply": "hudkit.agent.permissions",
    "PermissionRequest": "hudkit.agent.permissions",
    "PermissionRule": "hudkit.agent.permissions",
    "PluginClient": "hudkit.agent.plugins",
    "PluginInput": "hudkit.agent.plugins",
    "RequestLog": "hudkit.agent.request_log",
    "SessionStore": "hudkit.agent.session_store",
    "StoredMessage": "hudkit.agent.records",
    "StoredSession": "hudkit.agent.records",
    "TOOLS": "hudkit.agent.tools",
    "Tool": "hudkit.agent.tools",
    "ToolContext": "hudkit.agent.tools",
    "ToolLimits": "hudkit.agent.tools",
    "ToolOutcome": "hudkit.agent.tools",
    "TurnEnded": "hudkit.agent.events",
    "UndoResult": "hudkit.agent.file_undo",
    "function_tool": "hudkit.agent.tools",
    "delete_session": "hudkit.agent.session_deletion",
    "trim_sessions": "hudkit.agent.session_deletion",
    "export_session": "hudkit.agent.session_export",
    "discover_plugins": "hudkit.agent.plugins",
    "hud_plugin": "hudkit.agent.hud_hooks",
    "open_model": "hudkit.models",
    "parse_rules": "hudkit.agent.permissions",
    "trust_plugin": "hudkit.agent.plugins",
}

__all__ = [
    "TOOLS",
    "AgentDefinition",
    "AgentEvent",
    "AgentLoop",
    "Attachment",
    "EventSink",
    "EventStream",
    "HudPlugin",
    "LanguageServer",
    "LoggedRequest",
    "LoopOptions",
    "LoopSettings",
    "McpServer",
    "PermissionReply",
    "PermissionRequest",
    "PermissionRule",
    "PluginClient",
    "PluginInput",
    "RequestLog",
    "SessionStore",
    "StoredMessage",
    "StoredSession",
    "Tool",
    "ToolContext",
    "ToolLimits",
    "ToolOutcome",
    "TurnEnded",
    "UndoResult",
    "delete_session",
    "discover_plugins",
    "export_session",
    "function_tool",
    "hud_plugin",
    "open_model",
    "parse_rules",
    "trim_sessions",
    "trust_plugin",
]


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'hudkit.agent' has no attribute {name!r}")
    return getattr(import_module(module), name)
