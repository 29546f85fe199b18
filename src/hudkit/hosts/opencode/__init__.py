"""OpenCode as a host."""
