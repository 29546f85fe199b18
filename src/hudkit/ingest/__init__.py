"""What a host's messages tell becomes events, without the agent's help; for every host whose messages can be read.

Values in, events out: nothing here reads a log, a clock or a file. `ingest` takes what is known of a session and a
batch of messages; `derive_facts` is the same for one message of a recorded conversation.
"""

from hudkit.ingest.event_ids import IngestEvent
from hudkit.ingest.ingester import (
    COMPACTION_TYPES,
    IngestBatch,
    IngestState,
    ingest,
    observe,
    read_messages,
    set_back,
    take_up,
)
from hudkit.ingest.message_facts import Fact, KnownFacts, derive_facts, hear_ahead, session_facts, todo_facts
from hudkit.ingest.plain_messages import read_plain_messages

__all__ = [
    "COMPACTION_TYPES",
    "Fact",
    "IngestBatch",
    "IngestEvent",
    "IngestState",
    "KnownFacts",
    "derive_facts",
    "hear_ahead",
    "ingest",
    "observe",
    "read_messages",
    "read_plain_messages",
    "session_facts",
    "set_back",
    "take_up",
    "todo_facts",
]
