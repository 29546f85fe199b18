"""The table of all checks, in the order in which they are told."""

from __future__ import annotations

from hudkit.cli.checks import mcp, neighbours, opencode, ours
from hudkit.cli.checks.check import Look

CHECKS: tuple[Look, ...] = (
    Look("versions", ours.versions),
    Look("data directory", ours.data),
    Look("private files", ours.files),
    Look("log", ours.log),
    Look("log is whole", ours.whole, 30.0),
    Look("socket", ours.socket),
    Look("daemon", ours.daemon),
    Look("token counter", ours.tokens, 20.0),
    Look("settings", ours.settings),
    Look("extras", ours.extras),
    Look("opencode", opencode.program, 15.0),
    Look("opencode plugin", opencode.plugin),
    Look("plugin file", opencode.unchanged),
    Look("plugin's places", opencode.places, 20.0),
    Look("other plugins", neighbours.conflicts),
    Look("mcp clients", mcp.clients, 20.0),
)
