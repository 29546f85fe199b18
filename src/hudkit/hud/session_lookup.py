"""Which session a person means: by its id, a part of it, or words of its title; and how it is called in lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from hudkit.hud.session_keys import host_id_of_key
from hudkit.log.event_log import EventLog
from hudkit.log.payloads import SessionStart

_SHORT = 6
"""Characters of an id's end that stand for it in lists: its beginning is a time, which many share."""

_MOST_STARTS = 5
"""Starts of a session that are read for its title: the last one may have had none."""


def matching_sessions(asked: str, ids: Iterable[str], title_of: Callable[[str], str]) -> list[str]:
    """Return the ids of the sessions that may be meant: the one that is asked for whole, else those with this part.

    Where no id has it, those whose title has all of its words, in any case and order.
    """
    ids = list(ids)
    if asked in ids:
        return [asked]
    if parts := [id for id in ids if asked and asked in id]:
        return parts
    words = asked.casefold().split()
    return [id for id in ids if words and all(word in title_of(id).casefold() for word in words)]


def recorded_title(log: EventLog, key: str) -> str:
    """Return the title that a log has of a session, else what was asked for first; empty where it has neither.

    No state is folded: it is for lists of many sessions.
    """
    request = ""
    for start in _starts(log, key):
        if start.title:
            return start.title
        request = start.request or request
    return request


def last_start(log: EventLog, key: str) -> SessionStart:
    """Return what a host said last about a session; empty facts where it said nothing."""
    return next(_starts(log, key), SessionStart())


def _starts(log: EventLog, key: str) -> Iterator[SessionStart]:
    upto = log.last_seq(key)
    for _ in range(_MOST_STARTS):
        upto = log.last_seq_of(key, {"session.start"}, upto=upto)
        if not upto:
            return
        for event in log.read(key, after=upto - 1, upto=upto, past_damage=True):
            if isinstance(event.payload, SessionStart):
                yield event.payload
        upto -= 1


def short_ids(keys: Sequence[str]) -> dict[str, str]:
    """Return, for each key of a session, the end of its id by which a person can name it among these.

    For `opencode/ses_5f3ab01c9d2e@3f2a90c1d4e5` it is `1c9d2e`; where two sessions end alike, it is longer.
    """
    ids = {key: host_id_of_key(key) for key in keys}
    length = _SHORT
    while True:
        short = {key: id if len(id) <= 2 * _SHORT else id[-length:] for key, id in ids.items()}
        if len(set(short.values())) == len(set(ids.values())):
            return short
        length += 2
