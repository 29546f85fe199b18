"""The plugin that runs inside OpenCode: its source in JavaScript, and the Python that fills it in."""

from hudkit.hosts.opencode.plugin.plugin import Baked, generate

__all__ = ["Baked", "generate"]
