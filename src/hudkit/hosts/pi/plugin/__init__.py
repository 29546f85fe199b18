"""The extension that runs inside pi: its source in JavaScript, and the Python that fills it in."""

from __future__ import annotations

from importlib.resources import files

from hudkit.hosts.node_plugin import PluginPaths, generate_module

_SOURCES = ("pi_messages.js", "pi_hooks.js")
"""pi's own pieces; the last one has the default export."""


def generate_extension(baked: PluginPaths) -> str:
    """Return the module's text. The same values give the same bytes."""
    own = files(__package__)
    return generate_module(baked, "pi", "pi", [own.joinpath(name) for name in _SOURCES])
