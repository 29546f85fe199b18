"""What a host's messages tell becomes events, without the agent's help; for every host whose messages can be read."""

from hudkit.ingest.derive import Fact, Known, derive, derive_session, derive_todos

__all__ = ["Fact", "Known", "derive", "derive_session", "derive_todos"]
