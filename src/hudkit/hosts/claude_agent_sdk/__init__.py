"""The HUD in the Claude Agent SDK: hooks and tools for its options, answered in this process."""

from __future__ import annotations

from hudkit.errors import ConfigError
from hudkit.installation import install_hint

try:
    from hudkit.hosts.claude_agent_sdk.option_hooks import HudHooks
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("claude_agent_sdk", "mcp"):
        raise
    raise ConfigError(
        f"the HUD for the Claude Agent SDK needs the package {error.name!r}", hint=install_hint("claude-agent-sdk")
    ) from error

__all__ = ["HudHooks"]
