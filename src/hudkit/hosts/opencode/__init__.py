"""OpenCode as a host."""

DEFAULT_SERVER = "http://127.0.0.1:4096"
"""Where `opencode serve` and `opencode web` listen as a rule."""
