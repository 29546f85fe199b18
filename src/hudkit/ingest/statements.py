"""What a message says in plain words: the user's request, rules, rules taken back, decisions."""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from hudkit.ingest.extraction import KnownStatements, extract
from hudkit.ingest.tool_calls import one_line
from hudkit.log.payloads import ConstraintAdd, ConstraintRemove, DecisionRecord, Payload
from hudkit.transcripts import Message, TextPart
from hudkit.transcripts.prompt_window import compaction_marker

MAX_REQUEST = 300
"""Characters of the user's last message that stand in for a task."""

_MAX_STANDING = 200
"""Rules, and decisions, that are compared with a message: those before them are no longer looked through."""

StatementPayloads = tuple[tuple[str, Payload], ...]
"""Payloads, each with a key that is made of what it says."""


def request_text(message: Message) -> str:
    """Return what the user typed, on one line of at most `MAX_REQUEST` characters; empty for a compaction marker."""
    if compaction_marker(message):
        return ""
    typed = (part.text for part in message.parts if isinstance(part, TextPart) and not part.synthetic)
    text = " ".join(typed).strip()
    # `opencode run` puts quotes around an argument with spaces
    if len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1]:
        text = text[1:-1]
    return one_line(text, MAX_REQUEST)


def plain_text(message: Message) -> str:
    """Return the text that the author wrote and the model sees, part by part with an empty line between."""
    parts = (part for part in message.parts if isinstance(part, TextPart))
    return "\n\n".join(part.text for part in parts if not part.synthetic and not part.ignored)


def extract_statements(
    text: str, standing: KnownStatements, *, by_agent: bool
) -> tuple[KnownStatements, StatementPayloads]:
    """Return what stands after a message, and the payloads of what it states, each with its key."""
    if not text.strip():
        return standing, ()
    extracted, after = extract(text, standing, by_agent=by_agent)
    payloads: list[Payload] = [ConstraintRemove("", rule, derived=True) for rule in extracted.withdrawn]
    payloads += [ConstraintAdd(rule.text, derived=True, source=rule.reason) for rule in extracted.rules]
    payloads += [
        DecisionRecord(decision.summary, decision.details, derived=True, replaces=decision.replaces)
        for decision in extracted.decisions
    ]
    after = msgspec.structs.replace(
        after, rules=after.rules[-_MAX_STANDING:], decisions=after.decisions[-_MAX_STANDING:]
    )
    return after, tuple((_key(payload), payload) for payload in payloads)


def _key(payload: Payload) -> str:
    words = payload.summary if isinstance(payload, DecisionRecord) else getattr(payload, "text", "")
    return blake2b(str(words).encode("utf-8", "replace"), digest_size=6).hexdigest()
