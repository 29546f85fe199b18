"""Operations on what was said: messages, one message, compactions and plans."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hudkit.compose import shorten, visible
from hudkit.context.compaction.receipts import covered_range
from hudkit.errors import OperationError, TranscriptError
from hudkit.hud import SessionCore
from hudkit.tools.help import written
from hudkit.tools.lines import block, called, stored
from hudkit.tools.operation import Answer, Arguments, Loose, Text, reading
from hudkit.tools.receipts import TRIGGERS, figures, receipt_lines, receipts_of
from hudkit.tools.telling import (
    InSession,
    Room,
    Tokens,
    day,
    ident,
    meant,
    past_of,
    plain_message,
    table,
    texts,
    told,
)
from hudkit.transcripts.transcript import Message
from hudkit.transcripts.window import is_summary, marker_of

LENGTH = 600
Length = Annotated[int, Meta(ge=20, le=20_000, description="Characters of one text at most.")]
Offset = Annotated[int, Meta(ge=0, description="From which character on.")]


class Page(InSession, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=200, description="How many at most.")] = 20
    before: Annotated[Loose, Meta(description="Only those before the message with this id.")] = ""
    after: Annotated[Loose, Meta(description="Only those after it, the oldest first.")] = ""
    role: Annotated[Literal["user", "assistant"] | None, Meta(description="Only of this role.")] = None
    tools: Annotated[bool, Meta(description="Also what calls gave back, and reasoning.")] = False
    length: Length = LENGTH
    tokens: Tokens = 2_000


class One(InSession, frozen=True):
    id: Annotated[Text, Meta(description="The message's id.")] = ""
    messageId: Annotated[Loose, Meta(description="The same as id.")] = ""
    tools: Annotated[bool, Meta(description="Also what its calls gave back.")] = True
    offset: Offset = 0
    tokens: Tokens = 3_000


class Read(InSession, frozen=True):
    read: Annotated[int, Meta(ge=0, description="The summary of this compaction, counted from 1; 0: a list.")] = 0
    offset: Offset = 0
    tokens: Tokens = 3_000


class Plans(Arguments, frozen=True):
    read: Annotated[Loose, Meta(description="A plan's name; without it, all are listed.")] = ""
    offset: Offset = 0
    tokens: Tokens = 3_000


@reading("messages", Page, example={"session": "ses_1", "limit": 10})
def messages(session: SessionCore, args: Page) -> Answer:
    """Read the messages of a session as a transcript: the last ones, or a page before or after one of them."""
    id = meant(session, args)
    transcript, row = past_of(session).find(id)
    if args.before and args.after:
        raise OperationError('"before" and "after" exclude each other', hint="Give one of them.")
    page, more = _page(transcript.messages(id, after=args.after), args)
    room = Room(args.tokens)
    newest_first = list(page) if args.after else list(page)[::-1]
    shown: list[tuple[Message, str]] = []
    for message in newest_first:
        text = told(message, args.length, tools=args.tools)
        if not room.take(text):
            if not shown:  # one is always told, shortened to what there is
                text = told(message, max(room.left // 2, 20), tools=False)
                shown.append((message, text[: room.begin(text)]))
            more = True
            break
        shown.append((message, text))
    if not args.after:
        shown.reverse()
    parts = [f"# {visible(shorten(stored(row.title or row.id), 120))}", *(text for _, text in shown)]
    if not shown:
        parts.append("No messages.")
    elif more:
        edge = {"after": shown[-1][0].id} if args.after else {"before": shown[0][0].id}
        call = written("memory", "messages", {"session": id, **edge})
        parts.append(f"{'More' if args.after else 'Older ones'}: {call}")
    facts = [plain_message(message, args.length, tools=args.tools) for message, _ in shown]
    return Answer("\n\n".join(parts), {"session": id, "messages": facts, "more": more})


def _page(found: Iterator[Message], args: Page) -> tuple[deque[Message], bool]:
    """The first messages behind `after`, else the last ones before `before`; and whether there are more."""
    page: deque[Message] = deque()
    more = False
    seen = not args.before
    for message in found:
        if message.id == args.before:
            seen = True
            break
        if args.role and message.role != args.role:
            continue
        page.append(message)
        if len(page) > args.limit:
            more = True
            if args.after:
                page.pop()
                break
            page.popleft()
    if not seen:
        raise TranscriptError(f"no message {args.before!r:.80} in this session", hint="Take an id from `messages`.")
    return page, more


@reading("message", One, example={"session": "ses_1", "id": "msg_1"})
def message(session: SessionCore, args: One) -> Answer:
    """Read one message in full, with its calls and what they gave back; a long one in pages."""
    wanted = (args.id or args.messageId).strip()
    if not wanted:
        raise OperationError('message needs the argument "id"', hint="`messages` and `search` tell the ids.")
    id = meant(session, args)
    transcript, _ = past_of(session).find(id)
    found = next((one for one in transcript.messages(id) if one.id == wanted), None)
    if found is None:
        raise OperationError(
            f"{called(id)} has no message {called(wanted)}", hint="Give the session that has it, too."
        )
    whole = told(found, 10**9, tools=args.tools)
    call = {"session": id, "id": wanted}
    text, following = _cut(whole, args.offset, args.tokens, "message", call)
    facts = plain_message(found, 20_000, tools=args.tools)
    return Answer(text, {**facts, "characters": len(whole), "next": following})


def _cut(whole: str, offset: int, tokens: int, operation: str, call: dict[str, Any]) -> tuple[str, int | None]:
    """A page of a long text, whole lines where it can be; and where the next one begins."""
    if offset > 0:
        offset = whole.rfind("\n", 0, min(offset, len(whole)) + 1) + 1 if "\n" in whole[:offset] else 0
    room = Room(tokens)
    end = offset
    while end < len(whole):
        stop = whole.find("\n", end) + 1 or len(whole)
        if not room.take(whole[end:stop]):
            if end == offset:  # one line that is longer than the page
                end += room.begin(whole[end:stop])
                page = whole[offset:end]
                return f"{page}…\n\nThe rest of this line is too long to be told here.", None
            break
        end = stop
    page = whole[offset:end].rstrip("\n")
    if end >= len(whole):
        return page, None
    return f"{page}\n\nIt goes on: {written('memory', operation, {**call, 'offset': end})}", end


@reading("compactions", Read, example={"session": "ses_1", "read": 1})
def compactions(session: SessionCore, args: Read) -> Answer:
    """List the compactions of a session with the begin of each summary, or read one summary.

    Of those that the HUD saw, also the receipt: how it came about, tokens before and after, what was dropped.
    """
    id = meant(session, args)
    transcript, _ = past_of(session).find(id)
    found: list[tuple[Message, bool, int]] = []
    markers: dict[str, bool] = {}
    count = 0
    for one in transcript.messages(id):
        marker = marker_of(one)
        if marker is not None:
            markers[one.id] = marker.auto
        elif is_summary(one):
            found.append((one, markers.get(one.parent_id, False), count))
        else:
            count += 1
    known = receipts_of(session, id)
    if not args.read:
        rows = []
        for n, (one, auto, before) in enumerate(found, 1):
            receipt = known.get(one.id)
            how = "automatic" if auto else "asked for"
            told_of = (TRIGGERS.get(receipt.trigger, how), figures(receipt)) if receipt else (how, "")
            rows.append((n, day(one.created), *told_of, before, texts(one).lstrip("# \n")))
        head = ("read", "at (UTC)", "how", "tokens", "messages before", "summary")
        lines = [f"Compactions ({len(found)})", "", *table(head, rows)] if rows else ["Compactions: none"]
        names = ("index", "at", "how", "tokens", "before", "summary")
        data = [
            dict(zip(names, row, strict=True)) | {"at": one.created}
            for row, (one, _, _) in zip(rows, found, strict=True)
        ]
        return Answer("\n".join(lines), {"session": id, "compactions": data})
    if args.read > len(found):
        raise OperationError(f"there is no compaction {args.read}", hint=f"{called(id)} has {len(found)}.")
    one = found[args.read - 1][0]
    whole = block(stored(texts(one)))
    text, following = _cut(whole, args.offset, args.tokens, "compactions", {"session": id, "read": args.read})
    title = f"Compaction {args.read} of {len(found)}, {day(one.created)}, message {ident(one.id)}"
    if one.id in known and not args.offset:
        seen = covered_range(known[one.id], tuple(transcript.messages(id)))
        title = "\n".join((title, *receipt_lines(known[one.id], seen, session)))
    return Answer(f"{title}\n\n{text}", {"session": id, "summary": stored(texts(one))[:20_000], "next": following})


@reading("plans", Plans, example={"read": "watering"})
def plans(session: SessionCore, args: Plans) -> Answer:
    """List the saved plans of this project and of the user, or read one by its name."""
    past = past_of(session)
    directory = session.state.session.directory
    if not args.read:
        found = past.plans(directory)
        rows = [(plan.name, plan.folder, f"{plan.size:,}", day(plan.changed)) for plan in found[:100]]
        head = ("plan", "folder", "bytes", "changed (UTC)")
        lines = [f"Plans ({len(found)})", "", *table(head, rows)] if rows else ["Plans: none"]
        return Answer("\n".join(lines), {"plans": [msgspec.to_builtins(plan) for plan in found[:100]]})
    body, cut = past.plan(args.read, directory)
    whole = block(stored(body))
    text, following = _cut(whole, args.offset, args.tokens, "plans", {"read": args.read})
    note = "\n\nThe plan's file is longer; the rest is not read." if cut and following is None else ""
    return Answer(text + note, {"name": args.read, "text": stored(body)[:20_000], "cut": cut, "next": following})
