"""The OpenAI Agents SDK as a host: `HudRunner` runs its agents with the HUD in every model call."""

from __future__ import annotations

from hudkit.errors import ConfigError
from hudkit.installation import install_hint

try:
    import agents as _sdk  # noqa: F401 (whether it is there)
except ModuleNotFoundError as missing:
    if missing.name != "agents":
        raise
    raise ConfigError("the OpenAI Agents SDK is not installed", hint=install_hint("openai-agents")) from missing

from hudkit.hosts.openai_agents.runner import HudRunner

__all__ = ["HudRunner"]
