"""The plugin that runs inside OpenCode: its source in JavaScript, and the Python that fills it in."""

from hudkit.hosts.node_plugin import PluginPaths, read_paths
from hudkit.hosts.opencode.plugin.plugin_source import generate_plugin

__all__ = ["PluginPaths", "generate_plugin", "read_paths"]
