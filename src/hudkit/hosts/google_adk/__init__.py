"""The HUD in Google's Agent Development Kit: one plugin of a runner or an app."""

from __future__ import annotations

from hudkit.errors import ConfigError
from hudkit.installation import install_hint

try:
    from hudkit.hosts.google_adk.adk_plugin import HudAdkPlugin
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "google":
        raise
    hint = install_hint("google-adk")
    raise ConfigError(f"the HUD for Google ADK needs the package {error.name!r}", hint=hint) from error

__all__ = ["HudAdkPlugin"]
