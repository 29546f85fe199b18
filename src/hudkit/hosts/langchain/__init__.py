"""The HUD in LangChain's `create_agent` and in LangGraph graphs: one middleware for both."""

from __future__ import annotations

from hudkit.errors import ConfigError
from hudkit.installation import install_hint

try:
    from hudkit.hosts.langchain.middleware import HudMiddleware
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("langchain", "langchain_core", "langgraph"):
        raise
    raise ConfigError(
        f"the HUD for LangChain needs the package {error.name!r}", hint=install_hint("langchain")
    ) from error

__all__ = ["HudMiddleware"]
