"""What a host's messages tell becomes events, without the agent's help; for every host whose messages can be read."""

from hudkit.ingest.message_facts import Fact, KnownFacts, derive_facts, session_facts, todo_facts

__all__ = ["Fact", "KnownFacts", "derive_facts", "session_facts", "todo_facts"]
