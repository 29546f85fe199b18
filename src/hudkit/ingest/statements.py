"""What is said in plain words as facts: rules, rules taken back, decisions; each with a key made of what it says."""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from hudkit.ingest.extraction import KnownStatements, extract
from hudkit.log.payloads import ConstraintAdd, ConstraintRemove, DecisionRecord, Payload

MAX_STANDING = 200
"""Rules, and decisions, that are remembered as standing."""

StatementPayloads = tuple[tuple[str, Payload], ...]


def extract_statements(
    text: str, held: KnownStatements, *, by_agent: bool
) -> tuple[KnownStatements, StatementPayloads]:
    """What stands after a message, and the facts that it tells, each with its key."""
    if not text.strip():
        return held, ()
    news, after = extract(text, held, by_agent=by_agent)
    payloads: list[Payload] = [ConstraintRemove("", rule, derived=True) for rule in news.lifted]
    payloads += [ConstraintAdd(rule.text, derived=True, source=rule.reason) for rule in news.rules]
    payloads += [
        DecisionRecord(one.summary, one.details, derived=True, replaces=one.replaces) for one in news.decisions
    ]
    kept = msgspec.structs.replace(after, rules=after.rules[-MAX_STANDING:], decided=after.decided[-MAX_STANDING:])
    return kept, tuple((_key(one), one) for one in payloads)


def _key(payload: Payload) -> str:
    words = payload.summary if isinstance(payload, DecisionRecord) else getattr(payload, "text", "")
    return blake2b(str(words).encode("utf-8", "replace"), digest_size=6).hexdigest()
