"""Operations on what happened: the recent events, and search over live items, past events and all conversations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hudkit.compose import shorten, visible
from hudkit.errors import HudkitError, OperationError
from hudkit.hud import SessionCore
from hudkit.log.event import Event
from hudkit.tools.lines import MOST, called
from hudkit.tools.operation import Answer, Arguments, Loose, Text, reading
from hudkit.tools.telling import InSession, OldId, Room, Tokens, cell, day, ident, meant, moment, past_of, table
from hudkit.tools.whole import sections
from hudkit.transcripts.own import told
from hudkit.transcripts.search import Filters, Hit, Question

CHUNK = 100
"""Events read at once on the way back."""

LENGTH = 200
"""Characters of one event's or hit's content."""

MACHINERY = ("frame.base", "frame.delta", "context.snapshot")
"""Events about calls, not about work: left out unless asked for."""

content = told
"""What an event says."""

_PART = re.compile(r'"([^"]+)"|([^\s"]+)')


class Recent(Arguments, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=MOST, description="How many events at most.")] = 20
    before: Annotated[int | None, Meta(description="Only events with a smaller number.")] = None
    all: Annotated[bool, Meta(description="Also the events about frames and usage.")] = False


class Sought(Arguments, frozen=True):
    query: Annotated[Text, Meta(description='Words to look for; "in quotes" as they stand.')]
    limit: Annotated[int, Meta(ge=1, le=MOST, description="How many hits at most.")] = 10
    session: Annotated[Loose, Meta(description="Only of this session (its id, or its begin).")] = ""
    sessionId: OldId = ""
    project: Annotated[Loose, Meta(description="Only of this directory, or of one that has this in its path.")] = ""
    projectPath: Annotated[Loose, Meta(description="The same as project.")] = ""
    host: Annotated[Loose, Meta(description="Only of this host (opencode, claude-code, codex, hudkit).")] = ""
    role: Annotated[
        Literal["user", "assistant", "tool", "reasoning", "summary", "host"] | None,
        Meta(description="Only of this role."),
    ] = None
    tool: Annotated[Loose, Meta(description="Only calls of this tool and what they gave back.")] = ""
    since: Annotated[Loose, Meta(description='Only from this time on: "2026-11-21", or "7d" (before now).')] = ""
    until: Annotated[Loose, Meta(description="Only before this time.")] = ""
    syntax: Annotated[bool, Meta(description="The query is an FTS5 expression, not words.")] = False
    tokens: Tokens = 2_000


_FILTERS = ("session", "sessionId", "project", "projectPath", "host", "role", "tool", "since", "until")


@reading("history", Recent)
def history(session: SessionCore, args: Recent) -> Answer:
    """List what was recorded last, the newest event last."""
    wanted = (event for event in back(session, args.before) if args.all or event.type not in MACHINERY)
    events = list(islice(wanted, args.limit))[::-1]
    rest = next(wanted, None)
    told = [f"- #{event.seq} {_head(event)}{_after(shorten(content(event), LENGTH))}" for event in events]
    if rest is not None:
        told.insert(0, f"- older ones: before {events[0].seq}")
    data = {"events": [_plain(event) for event in events], "more": rest is not None}
    return Answer("\n".join(told) or "No events.", data)


@reading("search", Sought, example={"query": "refresh token"})
def search(session: SessionCore, args: Sought) -> Answer:
    """Search the live items and the events of this session, and what was said in all sessions, for words.

    Items and events must hold all words as they stand. Messages are ranked: by stems, rare words first, also where a
    word is misspelt or only a part; with a filter, or with `syntax`, only messages are searched.
    """
    filtered = any(getattr(args, name) for name in _FILTERS)
    if session.past is None:
        if filtered or args.syntax:
            past_of(session)
        return _recorded(session, args)
    own = Answer("", {"hits": []}) if filtered or args.syntax else _recorded(session, args)
    try:
        hits = session.past.search(_question(session, args))
    except OperationError:
        raise
    except HudkitError as error:
        if not own.data["hits"]:
            raise
        return Answer(f"{own.text}\n\nConversations are not searched: {visible(str(error))}", own.data)
    said = _messages(hits, args.tokens)
    texts = [own.text] if own.data["hits"] else []
    return Answer("\n\n".join((*texts, said)), {**own.data, "messages": [msgspec.to_builtins(hit) for hit in hits]})


def _question(session: SessionCore, args: Sought) -> Question:
    if args.role and args.tool and args.role != "tool":
        raise OperationError('"tool" finds calls, whose role is "tool"', hint='Leave "role" out.')
    asked = args.session or args.sessionId
    filters = Filters(
        session=meant(session, InSession(session=asked)) if asked else "",
        project=args.project or args.projectPath,
        host=args.host,
        role=args.role or "",
        tool=args.tool,
        since=moment(args.since, "since"),
        until=moment(args.until, "until"),
    )
    return Question(args.query, filters, args.limit, args.syntax)


def _messages(hits: tuple[Hit, ...], tokens: int) -> str:
    if not hits:
        return "Nothing found in the conversations."
    room, shown = Room(tokens), []
    for hit in hits:
        who = f"{hit.role} {hit.tool}".strip()
        line = table((), [(who, day(hit.time), hit.title)])[2]
        line = f"| {ident(hit.session)} | {ident(hit.message)} {line} {cell(shorten(hit.snippet, LENGTH), LENGTH)} |"
        if not room.take(line):
            break
        shown.append(line)
    head = table(("session", "message", "who", "at (UTC)", "title", "text"), ())
    rest = f"\n\n+{len(hits) - len(shown)} more: raise `tokens`." if len(shown) < len(hits) else ""
    return "\n".join(("Said in conversations (`message` and `messages` read on):", "", *head, *shown)) + rest


def _recorded(session: SessionCore, args: Sought) -> Answer:
    """The live items and the events of this session that hold all the words."""
    parts = [(quoted or word).casefold() for quoted, word in _PART.findall(args.query)] or [args.query.casefold()]
    state = session.state
    told: list[str] = []
    hits: list[dict[str, Any]] = []
    seen: set[int] = set()
    for section in sections():
        for row in section.rows(state):
            if _has(row.text, parts):
                seen.add(row.seq)
                if len(hits) < args.limit:
                    hits.append({"section": section.name, "id": row.id, "text": row.text})
                    told.append(f"- {section.name} {called(row.label)}{_after(_around(row.text, parts[0]))}")
    for event in back(session, None) if len(hits) < args.limit else ():
        if event.seq in seen or event.type in MACHINERY:
            continue
        text = content(event)
        if _has(text, parts):
            hits.append({"seq": event.seq, "type": event.type, "text": shorten(text, LENGTH)})
            told.append(f"- #{event.seq} {_head(event)}{_after(_around(text, parts[0]))}")
            if len(hits) == args.limit:
                break
    return Answer("\n".join(told) or "Nothing found.", {"hits": hits})


def back(session: SessionCore, before: int | None) -> Iterator[Event]:
    """The session's events, the newest first, from below `before`."""
    last = session.state.seq
    upto = last if before is None else min(last, before - 1)
    while upto > 0:
        after = max(upto - CHUNK, 0)
        yield from reversed(tuple(session.events(after, upto)))
        upto = after


def _head(event: Event) -> str:
    return f"{visible(event.type)} ({event.origin}, turn {event.turn})"


def _after(text: str) -> str:
    return f": {visible(text)}" if text else ""


def _plain(event: Event) -> dict[str, Any]:
    head = {
        "seq": event.seq,
        "type": event.type,
        "origin": str(event.origin),
        "turn": event.turn,
        "at": event.timestamp,
    }
    return {**head, "content": shorten(content(event), LENGTH)}


def _has(text: str, parts: list[str]) -> bool:
    folded = text.casefold()
    return all(part in folded for part in parts)


def _around(text: str, part: str) -> str:
    """The text near the first hit."""
    start = max(text.casefold().find(part) - LENGTH // 3, 0)
    return ("…" if start else "") + shorten(text[start:], LENGTH)
