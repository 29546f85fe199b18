"""Operations on what happened: the recent events, and search over live items, past events and all conversations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hudkit.compose import shorten, visible
from hudkit.errors import HudkitError, OperationError
from hudkit.hud import SessionCore
from hudkit.log.event import Event, Origin
from hudkit.log.payloads import EventUndo, Payload, type_of
from hudkit.log.secret_patterns import without_secrets
from hudkit.sections.state import PERMANENT_TYPES, HudState, undone_seqs
from hudkit.tools.answer_text import MAX_ROWS, id_text, quote
from hudkit.tools.help import call_text
from hudkit.tools.operation import AnyText, OperationArguments, OperationResult, Text, operation, reading
from hudkit.tools.state_ops import readable_sections
from hudkit.tools.transcript_text import (
    OldId,
    SessionArguments,
    TokenRoom,
    Tokens,
    host_session_id,
    id_cell,
    resolve_session_id,
    short_message_id,
    table_cell,
    transcripts_of,
    utc_minute,
)
from hudkit.transcripts.event_log_transcript import describe_event as event_words
from hudkit.transcripts.search import SearchFilters, SearchHit, SearchQuery

_CHUNK = 100
"""Events read at once on the way back."""

_MAX_CONTENT = 200
"""Characters of one event's or hit's content."""

_MACHINERY = ("frame.base", "frame.delta", "context.snapshot")
"""Events about calls, not about work: left out unless asked for."""

_PART = re.compile(r'"([^"]+)"|([^\s"]+)')


class _HistoryArguments(OperationArguments, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=MAX_ROWS, description="How many events at most.")] = 20
    before: Annotated[int | None, Meta(description="Only events with a smaller number.")] = None
    all: Annotated[bool, Meta(description="Also the events about frames and usage.")] = False


class _SearchArguments(OperationArguments, frozen=True):
    query: Annotated[Text, Meta(description='Words to look for; "in quotes" as they stand.')]
    limit: Annotated[int, Meta(ge=1, le=MAX_ROWS, description="How many hits at most.")] = 10
    session: Annotated[AnyText, Meta(description="Only of this session (its id, or its beginning).")] = ""
    sessionId: OldId = ""
    project: Annotated[AnyText, Meta(description="Only of this directory, or of one that has this in its path.")] = ""
    projectPath: Annotated[AnyText, Meta(description="The same as project.")] = ""
    host: Annotated[AnyText, Meta(description="Only of this host (opencode, claude-code, codex, pi, hudkit).")] = ""
    role: Annotated[
        Literal["user", "assistant", "tool", "reasoning", "summary", "host"] | None,
        Meta(description="Only of this role."),
    ] = None
    tool: Annotated[AnyText, Meta(description="Only calls of this tool and what they gave back.")] = ""
    since: Annotated[AnyText, Meta(description='Only from this time on: "2026-11-21", or "7d" (before now).')] = ""
    until: Annotated[AnyText, Meta(description="Only before this time.")] = ""
    syntax: Annotated[bool, Meta(description="The query is an FTS5 expression, not words.")] = False
    tokens: Tokens = 2_000


_FILTERS = ("session", "sessionId", "project", "projectPath", "host", "role", "tool", "since", "until")


@reading("history", _HistoryArguments)
def _history(session: SessionCore, args: _HistoryArguments) -> OperationResult:
    """List what was recorded last, the newest event last."""
    wanted = (event for event in _events_backwards(session, args.before) if args.all or event.type not in _MACHINERY)
    events = list(islice(wanted, args.limit))[::-1]
    # One more is read only to know whether there is any.
    rest = next(wanted, None)
    lines = [
        f"- #{event.seq} {_head(event)}{_behind_colon(shorten(event_words(event), _MAX_CONTENT))}" for event in events
    ]
    if rest is not None:
        lines.insert(0, f"- older ones: before {events[0].seq}")
    data = {"events": [_plain(event) for event in events], "more": rest is not None}
    return OperationResult("\n".join(lines) or "No events.", data)


@reading("search", _SearchArguments, example={"query": "refresh token"})
def _search(session: SessionCore, args: _SearchArguments) -> OperationResult:
    """Search the live items and the events of this session, and what was said in all sessions, for words.

    Items and events must hold all words as they stand. Messages are ranked: by stems, rare words first, also where a
    word is misspelt or only a part; with a filter, or with `syntax`, only messages are searched.
    """
    filtered = any(getattr(args, name) for name in _FILTERS)
    if session.past is None:
        # Filters are about conversations: without those, the error says so, rather than an empty answer.
        if filtered or args.syntax:
            transcripts_of(session)
        return _recorded(session, args)
    own = OperationResult("", {"hits": []}) if filtered or args.syntax else _recorded(session, args)
    question = _question(session, args)
    hits: tuple[SearchHit, ...] = ()
    problem: HudkitError | None = None
    try:
        hits = session.past.search(question)
    except OperationError:
        raise
    except HudkitError as error:
        problem = error
    hits = hits or _unindexed(session, question)
    if problem is not None and not hits:
        # Half an answer is better than none, where it says which half.
        if not own.data["hits"]:
            raise problem
        return OperationResult(f"{own.text}\n\nConversations are not searched: {visible(str(problem))}", own.data)
    conversations = _messages(hits, args.tokens)
    texts = [own.text] if own.data["hits"] else []
    if session.past.is_behind:
        conversations += "\n\nNot all conversations are searched yet: the same search finds more."
    return OperationResult(
        "\n\n".join((*texts, conversations)), {**own.data, "messages": [msgspec.to_builtins(hit) for hit in hits]}
    )


def _unindexed(session: SessionCore, question: SearchQuery) -> tuple[SearchHit, ...]:
    """What the conversation itself has, where the index knows nothing: it may be behind, and what a compaction has
    just taken away is to be found."""
    past = session.past
    if past is None or question.syntax:
        return ()
    try:
        return past.scan(question.filters.session or host_session_id(session), question)
    except HudkitError:
        return ()


def _question(session: SessionCore, args: _SearchArguments) -> SearchQuery:
    if args.role and args.tool and args.role != "tool":
        raise OperationError('"tool" finds calls, whose role is "tool"', hint='Leave "role" out.')
    asked = args.session or args.sessionId
    filters = SearchFilters(
        session=resolve_session_id(session, SessionArguments(session=asked)) if asked else "",
        project=args.project or args.projectPath,
        host=args.host,
        role=args.role or "",
        tool=args.tool,
        since=parse_time(args.since, "since"),
        until=parse_time(args.until, "until"),
    )
    return SearchQuery(args.query, filters, args.limit, args.syntax)


def _messages(hits: tuple[SearchHit, ...], tokens: int) -> str:
    """The hits by session, in the order of their best one: an id and a title are told once, the rest is text."""
    if not hits:
        return "Nothing found in the conversations."
    by_session: dict[str, list[SearchHit]] = {}
    for hit in hits:
        by_session.setdefault(hit.session, []).append(hit)
    room, lines, shown = TokenRoom(tokens), [], 0
    for session, session_hits in by_session.items():
        title = table_cell(session_hits[0].title)
        heads = ["", f"Session {id_cell(session)}{f', {title}' if title else ''}:", ""]
        for hit in session_hits:
            who = id_text(hit.tool) if hit.tool else hit.role
            id = id_cell(short_message_id(hit.message))
            line = f"- {who} {id} {utc_minute(hit.time)[5:]}: {_snippet(hit)}"
            if not room.take("\n".join((*heads, line))):
                break
            lines += [*heads, line]
            heads, shown = [], shown + 1
    rest = f"\n\n+{len(hits) - shown} more: raise `tokens`." if shown < len(hits) else ""
    return "\n".join(("Said in conversations (`message` and `messages` read on):", *lines)) + rest


def _snippet(hit: SearchHit) -> str:
    return table_cell(shorten(hit.snippet, _MAX_CONTENT), _MAX_CONTENT)


def _recorded(session: SessionCore, args: _SearchArguments) -> OperationResult:
    """The live items and the events of this session that hold all the words."""
    parts = [(quoted or word).casefold() for quoted, word in _PART.findall(args.query)] or [args.query.casefold()]
    state = session.state
    lines: list[str] = []
    hits: list[dict[str, Any]] = []
    seen: set[int] = set()
    for section in readable_sections():
        for row in section.rows(state):
            if _holds_all(row.text, parts):
                # Beyond the limit too: its event is no hit of its own either.
                seen.add(row.seq)
                if len(hits) < args.limit:
                    hits.append({"section": section.name, "id": row.id, "text": row.text})
                    lines.append(
                        f"- {section.name} {id_text(row.label)}{_behind_colon(_excerpt(row.text, parts[0]))}"
                    )
    for event in _events_backwards(session, None) if len(hits) < args.limit else ():
        # The live item says it already.
        if event.seq in seen or event.type in _MACHINERY:
            continue
        text = event_words(event)
        if _holds_all(text, parts):
            hits.append({"seq": event.seq, "type": event.type, "text": shorten(text, _MAX_CONTENT)})
            lines.append(f"- #{event.seq} {_head(event)}{_behind_colon(_excerpt(text, parts[0]))}")
            if len(hits) == args.limit:
                break
    return OperationResult("\n".join(lines) or "Nothing found.", {"hits": hits})


def _events_backwards(session: SessionCore, before: int | None) -> Iterator[Event]:
    """Yield the session's events, the newest first, from below `before`; they are read in pieces."""
    last = session.state.seq
    upto = last if before is None else min(last, before - 1)
    while upto > 0:
        after = max(upto - _CHUNK, 0)
        yield from reversed(tuple(session.events(after, upto)))
        upto = after


def _head(event: Event) -> str:
    return f"{visible(event.type)} ({event.origin}, turn {event.turn})"


def _behind_colon(text: str) -> str:
    return f": {visible(text)}" if text else ""


def _plain(event: Event) -> dict[str, Any]:
    head = {
        "seq": event.seq,
        "type": event.type,
        "origin": str(event.origin),
        "turn": event.turn,
        "at": event.timestamp,
    }
    return {**head, "content": shorten(event_words(event), _MAX_CONTENT)}


def _holds_all(text: str, parts: list[str]) -> bool:
    folded = text.casefold()
    return all(part in folded for part in parts)


def _excerpt(text: str, part: str) -> str:
    """The text near the first hit."""
    start = max(text.casefold().find(part) - _MAX_CONTENT // 3, 0)
    return ("…" if start else "") + shorten(text[start:], _MAX_CONTENT)


# --- Undo: an event is taken back by another event; nothing leaves the log, and the undo can be undone.


_MAX_LOOKED_AT = 2_000
"""Events that are looked through for the last own change."""


class _UndoArguments(OperationArguments, frozen=True):
    seq: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="The number of the event, as `history` shows it; without it, your last change."),
    ] = None
    item: Annotated[AnyText, Meta(description="What the last change was of, to be sure: a kind, or words of it.")] = (
        ""
    )
    reason: Annotated[AnyText, Meta(description="Why.")] = ""


@operation("undo", _UndoArguments, example={"seq": 12, "reason": "recorded in the wrong session"})
def _undo(session: SessionCore, args: _UndoArguments, origin: Origin) -> OperationResult:
    """Take a recorded change back, as if it had never been made; the log keeps both. An undo can be undone, too.

    What a host did (compactions, frames, its todos) cannot be undone here.
    """
    chosen: list[Event] = []

    def decide(state: HudState) -> Sequence[Payload]:
        gone = undone_seqs(session.events())
        event = (
            _of_item(_last_own_change(session, origin, gone), args.item)
            if args.seq is None
            else _event_to_undo(session, state, args.seq, gone)
        )
        chosen[:] = [event]
        return (EventUndo(event.seq, without_secrets(args.reason)),)

    events, _ = session.decide(decide, origin=origin)
    event = chosen[0]
    quoted = f" {quote(event_words(event))}" if event_words(event) else ""
    again = call_text("hud", "undo", {"seq": events[0].seq})
    text = f"Undone: event {event.seq}, {event.type}{quoted}. To have it again: {again}"
    return OperationResult(text, {"seq": event.seq, "type": event.type, "by": events[0].seq, "recorded": True})


def _event_to_undo(session: SessionCore, state: HudState, seq: int, gone: frozenset[int]) -> Event:
    event = next(session.events(seq - 1, seq), None) if seq <= state.seq else None
    if event is None:
        raise OperationError(
            f"there is no event {seq}", hint=f"There are events 1 to {state.seq}; history lists them."
        )
    if seq in gone:
        raise OperationError(
            f"event {seq} is undone already", hint="To have it again, undo the undo: history lists it."
        )
    why = _why_permanent(event)
    if why:
        raise OperationError(f"event {seq} ({event.type}) cannot be undone: {why}", hint="history lists what can be.")
    return event


def _last_own_change(session: SessionCore, origin: Origin, gone: frozenset[int]) -> Event:
    for place, event in enumerate(_events_backwards(session, None)):
        if place >= _MAX_LOOKED_AT:
            break
        own = event.origin == origin and event.payload is not None and type_of(event.payload) != "event.undo"
        if own and event.seq not in gone and not _why_permanent(event):
            return event
    raise OperationError(
        f"there is no change of yours to undo ({shorten(str(origin), 20)})",
        hint="Name an event by its number: history lists them.",
    )


def _of_item(event: Event, item: str) -> Event:
    """The last change, where it is of what the agent says that it was of: `notes`, `notes.add`, words of it."""
    kind, words = event.type.partition(".")[0], item.strip().casefold()
    if (
        words.partition(".")[0].removesuffix("s") == kind
        or "last" in words.split()
        or words in event_words(event).casefold()
    ):
        return event
    raise OperationError(
        f"your last change is {visible(event.type)} {quote(event_words(event))}, and nothing of {quote(item)}",
        hint="Name an event by its number: history lists them.",
    )


def parse_time(text: str, name: str) -> int:
    """Return Unix ms of a day or a time as a caller writes it: 2026-11-21, 2026-11-21T09:30, or an age.

    `7d` and `12h` are ages, counted back from what is newest; they come back negative. Raises `OperationError`.
    """
    text = text.strip()
    if not text:
        return 0
    number, unit = text[:-1], text[-1:]
    if number.isdecimal() and len(number) < 6 and unit in "dh":
        return -int(number) * (86_400_000 if unit == "d" else 3_600_000)
    try:
        when = datetime.fromisoformat(text[:40])
        return max(int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000), 1)
    except (ValueError, OverflowError):
        raise OperationError(
            f'"{name}" is not a time', hint='Write "2026-11-21", "2026-11-21T09:30" or "7d".'
        ) from None


def _why_permanent(event: Event) -> str:
    """Return why this event cannot be undone; empty where it can."""
    if event.payload is None:
        return "what it said was redacted"
    return PERMANENT_TYPES.get(type_of(event.payload), "")
