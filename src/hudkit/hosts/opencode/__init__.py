"""OpenCode as a host."""

from hudkit.hosts.opencode.derive import Fact, Known, derive, derive_session, derive_todos

__all__ = ["Fact", "Known", "derive", "derive_session", "derive_todos"]
