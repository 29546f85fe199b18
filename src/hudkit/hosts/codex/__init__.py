"""Codex: hooks that bring the HUD, and an MCP server with the agent's tools; no code of ours runs in its process."""
