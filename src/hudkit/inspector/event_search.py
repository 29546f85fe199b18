"""Search in the events of a session, which are at hand, and in what was said, by the index of `hudkit memory`."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hudkit.errors import HudkitError
from hudkit.inspector.session_record import SessionRecord
from hudkit.log import Event
from hudkit.transcripts.event_log_transcript import describe_event
from hudkit.transcripts.search import PastSessions
from hudkit.transcripts.search.query import SearchFilters, SearchHit, SearchQuery

MAX_EVENTS, MAX_MESSAGES = 40, 25
"""Hits that are shown of each kind."""

SEARCHED_EVENTS = 15_000
"""Events of a session that are searched, the newest: of all of a very long one, a person would have to wait."""


class EventHit(msgspec.Struct, frozen=True):
    """An event that has all words, and what it says."""

    event: Event
    text: str


class MessageHits(msgspec.Struct, frozen=True):
    """The messages that answer best; `problem` says why there are none where they cannot be searched."""

    hits: tuple[SearchHit, ...] = ()
    problem: str = ""


def find_events(record: SessionRecord, query: str) -> tuple[EventHit, ...]:
    """Return the newest events of a session whose type or text has all the words of a query, in any case; of a very
    long one, among the last `SEARCHED_EVENTS`."""
    words = query.lower().split()
    hits: list[EventHit] = []
    for event in reversed(list(record.events(max(0, record.read_upto - SEARCHED_EVENTS), record.read_upto))):
        text = describe_event(event)
        if words and all(word in f"{event.type} {text}".lower() for word in words):
            hits.append(EventHit(event, text))
            if len(hits) == MAX_EVENTS:
                break
    return tuple(hits)


def find_messages(past: PastSessions | None, query: str, session: str = "") -> MessageHits:
    """Return what was said that answers a query, in one session by the host's id, or in all."""
    if past is None:
        return MessageHits(problem="No transcripts are at hand.")
    try:
        question = SearchQuery(query, SearchFilters(session=session), MAX_MESSAGES)
        return MessageHits(past.search(question))
    except HudkitError as error:
        return MessageHits(problem=str(error))


def highlighted(text: str, words: Sequence[str]) -> tuple[str, str, str]:
    """Return a text in three pieces, around the first of these words that it has; the pieces may be empty."""
    lower = text.lower()
    places = [(lower.find(word), len(word)) for word in words if word and word in lower]
    if not places:
        return text, "", ""
    start, length = min(places)
    return text[:start], text[start : start + length], text[start + length :]
