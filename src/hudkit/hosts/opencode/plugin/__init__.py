"""The plugin that runs inside OpenCode: its source in JavaScript, and the Python that fills it in."""

from hudkit.hosts.opencode.plugin.plugin_source import PluginPaths, generate_plugin, read_paths

__all__ = ["PluginPaths", "generate_plugin", "read_paths"]
