"""Claude Code: the plugin that runs in it, its installation, and its status line."""
