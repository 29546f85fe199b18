"""pydantic-ai as a host: `Agent(model, capabilities=[HudCapability()])`."""

from __future__ import annotations

from hudkit.errors import ConfigError
from hudkit.installation import install_hint

try:
    from hudkit.hosts.pydantic_ai.capability import HudCapability
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("pydantic_ai", "pydantic_graph"):
        raise
    raise ConfigError("pydantic-ai is not installed", hint=install_hint("pydantic-ai")) from error

__all__ = ["HudCapability"]
