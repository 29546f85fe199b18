"""The plugin that runs inside Claude Code: its source in JavaScript, and the Python that fills it in."""

from hudkit.hosts.claude_code.plugin.plugin_files import (
    BAKED_FILE,
    PLUGIN,
    MarketplacePaths,
    generate_plugin,
    read_paths,
)

__all__ = ["BAKED_FILE", "PLUGIN", "MarketplacePaths", "generate_plugin", "read_paths"]
