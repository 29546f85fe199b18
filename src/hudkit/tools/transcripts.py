"""Operations on what was said: messages, one message, compactions and plans."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hudkit.compose import shorten, visible
from hudkit.context.compaction.receipts import CoveredRange, Receipt, count_items, covered_range, read_receipts
from hudkit.errors import OperationError, TranscriptError
from hudkit.hud import SessionCore
from hudkit.log.secret_patterns import without_secrets
from hudkit.tools.answer_text import id_text, indented_block
from hudkit.tools.help import call_text
from hudkit.tools.operation import AnyText, OperationArguments, OperationResult, Text, reading
from hudkit.tools.receipt_text import TRIGGER_WORDS, freed_text, token_figures
from hudkit.tools.transcript_text import (
    MAX_CELL_CHARS,
    SessionArguments,
    TokenRoom,
    Tokens,
    host_session_id,
    id_cell,
    input_line,
    markdown_table,
    message_words,
    resolve_message_id,
    resolve_session_id,
    transcripts_of,
    utc_minute,
)
from hudkit.transcripts.prompt_window import compaction_marker, is_summary
from hudkit.transcripts.transcript import (
    CompactionPart,
    FilePart,
    Message,
    PatchPart,
    ReasoningPart,
    TextPart,
    ToolPart,
    Transcript,
)

_TEXT_CHARS = 600

_MAX_INPUT_CHARS = 160
"""Characters of a call's input in one line."""
_Length = Annotated[int, Meta(ge=20, le=20_000, description="Characters of one text at most.")]
Offset = Annotated[int, Meta(ge=0, description="From which character on.")]


class _MessagesArguments(SessionArguments, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=200, description="How many at most.")] = 20
    before: Annotated[AnyText, Meta(description="Only those before the message with this id.")] = ""
    after: Annotated[AnyText, Meta(description="Only those after it, the oldest first.")] = ""
    role: Annotated[Literal["user", "assistant"] | None, Meta(description="Only of this role.")] = None
    tools: Annotated[bool, Meta(description="Also what calls gave back, and reasoning.")] = False
    length: _Length = _TEXT_CHARS
    tokens: Tokens = 2_000


class _MessageArguments(SessionArguments, frozen=True):
    id: Annotated[Text, Meta(description="The message's id, or the end of it that `search` shows.")] = ""
    messageId: Annotated[AnyText, Meta(description="The same as id.")] = ""
    tools: Annotated[bool, Meta(description="Also what its calls gave back.")] = True
    offset: Offset = 0
    tokens: Tokens = 3_000


class _CompactionsArguments(SessionArguments, frozen=True):
    read: Annotated[int, Meta(ge=0, description="The summary of this compaction, counted from 1; 0: a list.")] = 0
    offset: Offset = 0
    tokens: Tokens = 3_000


class _PlansArguments(OperationArguments, frozen=True):
    read: Annotated[AnyText, Meta(description="A plan's name; without it, all are listed.")] = ""
    offset: Offset = 0
    tokens: Tokens = 3_000


@reading("messages", _MessagesArguments, example={"session": "ses_1", "limit": 10})
def _messages(session: SessionCore, args: _MessagesArguments) -> OperationResult:
    """Read the messages of a session as a transcript: the last ones, or a page before or after one of them."""
    id = resolve_session_id(session, args)
    transcript, row = transcripts_of(session).find(id)
    if args.before and args.after:
        raise OperationError('"before" and "after" exclude each other', hint="Give one of them.")
    before, after = (resolve_message_id(transcript, id, each) for each in (args.before, args.after))
    args = msgspec.structs.replace(args, before=before, after=after)
    page, more = _page(transcript.messages(id, after=args.after), args)
    room = TokenRoom(args.tokens)
    newest_first = list(page) if args.after else list(page)[::-1]
    shown: list[tuple[Message, str]] = []
    for message in newest_first:
        text = _message_text(message, args.length, tools=args.tools)
        # An answer is bounded in tokens; one message is always told, if shortened.
        if not room.take(text):
            if not shown:
                text = _message_text(message, max(room.left // 2, 20), tools=False)
                shown.append((message, text[: room.begin(text)]))
            more = True
            break
        shown.append((message, text))
    if not args.after:
        shown.reverse()
    parts = [f"# {visible(shorten(without_secrets(row.title or row.id), 120))}", *(text for _, text in shown)]
    if not shown:
        parts.append("No messages.")
    elif more:
        edge = {"after": shown[-1][0].id} if args.after else {"before": shown[0][0].id}
        call = call_text("memory", "messages", {"session": id, **edge})
        parts.append(f"{'More' if args.after else 'Older ones'}: {call}")
    facts = [_message_facts(message, args.length, tools=args.tools) for message, _ in shown]
    return OperationResult("\n\n".join(parts), {"session": id, "messages": facts, "more": more})


def _page(messages: Iterator[Message], args: _MessagesArguments) -> tuple[deque[Message], bool]:
    """The first messages behind `after`, else the last ones before `before`; and whether there are more."""
    page: deque[Message] = deque()
    more = False
    seen = not args.before
    for message in messages:
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
            # The last ones are wanted: the stream is read to its end, and only a page is held.
            page.popleft()
    if not seen:
        raise TranscriptError(f"no message {args.before!r:.80} in this session", hint="Take an id from `messages`.")
    return page, more


@reading("message", _MessageArguments, example={"session": "ses_1", "id": "msg_1"})
def _message(session: SessionCore, args: _MessageArguments) -> OperationResult:
    """Read one message in full, with its calls and what they gave back; a long one in pages."""
    wanted = (args.id or args.messageId).strip()
    if not wanted:
        raise OperationError('message needs the argument "id"', hint="`messages` and `search` tell the ids.")
    id = resolve_session_id(session, args)
    transcript, _ = transcripts_of(session).find(id)
    wanted = resolve_message_id(transcript, id, wanted)
    message = next((each for each in transcript.messages(id) if each.id == wanted), None)
    if message is None:
        raise OperationError(
            f"{id_text(id)} has no message {id_text(wanted)}", hint="Give the session that has it, too."
        )
    whole = _message_text(message, 10**9, tools=args.tools)
    call = {"session": id, "id": wanted}
    text, following = _cut(whole, args.offset, args.tokens, "message", call)
    facts = _message_facts(message, 20_000, tools=args.tools)
    return OperationResult(text, {**facts, "characters": len(whole), "next": following})


def _cut(whole: str, offset: int, tokens: int, operation: str, call: dict[str, Any]) -> tuple[str, int | None]:
    """A page of a long text, whole lines where it can be; and where the next one begins."""
    # Back to the beginning of a line: an offset of a caller's own may be anywhere.
    if offset > 0:
        offset = whole.rfind("\n", 0, min(offset, len(whole)) + 1) + 1 if "\n" in whole[:offset] else 0
    room = TokenRoom(tokens)
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
    return f"{page}\n\nIt goes on: {call_text('memory', operation, {**call, 'offset': end})}", end


@reading("compactions", _CompactionsArguments, example={"session": "ses_1", "read": 1})
def _compactions(session: SessionCore, args: _CompactionsArguments) -> OperationResult:
    """List the compactions of a session with the begin of each summary, or read one summary.

    Of those that the HUD saw, also the receipt: how it came about, tokens before and after, what was dropped.
    """
    is_own = session.past is None and not (args.session or args.sessionId).strip()
    id = host_session_id(session) if is_own else resolve_session_id(session, args)
    transcript = None if is_own else transcripts_of(session).find(id)[0]
    summaries: list[tuple[Message, bool, int | str]] = []
    markers: dict[str, bool] = {}
    count = 0
    for message in transcript.messages(id) if transcript is not None else ():
        marker = compaction_marker(message)
        if marker is not None:
            markers[message.id] = marker.auto
        # A marker comes before its summary, and says how it came about.
        elif is_summary(message):
            summaries.append((message, markers.get(message.parent_id, False), count))
        else:
            count += 1
    receipts_by_message = _receipts_of(session, id)
    if not summaries:  # a conversation that does not have them, or that nobody keeps
        summaries = [
            (_summary_of(receipt, message), False, "?")
            for message, receipt in receipts_by_message.items()
            if not receipt.undone
        ]
    if not args.read:
        rows = []
        previous = ""
        for n, (message, auto, before) in enumerate(summaries, 1):
            receipt = receipts_by_message.get(message.id)
            how = "automatic" if auto else "asked for"
            told_of = (TRIGGER_WORDS.get(receipt.trigger, how), token_figures(receipt)) if receipt else (how, "")
            words = message_words(message)
            preview = _new_lines(words, previous).lstrip("# \n")
            previous = words
            rows.append((n, utc_minute(message.created), *told_of, before, preview))
        head = ("read", "at (UTC)", "how", "tokens", "messages before", "summary")
        lines = (
            [f"Compactions ({len(summaries)})", "", *markdown_table(head, rows)] if rows else ["Compactions: none"]
        )
        names = ("index", "at", "how", "tokens", "before", "summary")
        data = [
            dict(zip(names, row, strict=True)) | {"at": message.created}
            for row, (message, _, _) in zip(rows, summaries, strict=True)
        ]
        return OperationResult("\n".join(lines), {"session": id, "compactions": data})
    if args.read > len(summaries):
        raise OperationError(f"there is no compaction {args.read}", hint=f"{id_text(id)} has {len(summaries)}.")
    message = summaries[args.read - 1][0]
    whole = indented_block(without_secrets(message_words(message)))
    text, following = _cut(whole, args.offset, args.tokens, "compactions", {"session": id, "read": args.read})
    title = (
        f"Compaction {args.read} of {len(summaries)}, {utc_minute(message.created)}, message {id_cell(message.id)}"
    )
    if message.id in receipts_by_message and not args.offset:
        messages = tuple(transcript.messages(id)) if transcript is not None else ()
        seen = covered_range(receipts_by_message[message.id], messages)
        title = "\n".join((title, *_receipt_lines(receipts_by_message[message.id], seen, session)))
    return OperationResult(
        f"{title}\n\n{text}",
        {"session": id, "summary": without_secrets(message_words(message))[:20_000], "next": following},
    )


def _new_lines(summary: str, previous: str) -> str:
    """Return the lines of a summary that the one before does not have, all of it where there are none."""
    before = {line.strip() for line in previous.splitlines()}
    return "\n".join(line for line in summary.splitlines() if line.strip() not in before) or summary


@reading("plans", _PlansArguments, example={"read": "watering"})
def _plans(session: SessionCore, args: _PlansArguments) -> OperationResult:
    """List the saved plans of this project and of the user, or read one by its name."""
    past = transcripts_of(session)
    directory = session.state.session.directory
    if not args.read:
        saved_plans = past.plans(directory)
        rows = [(plan.name, plan.folder, f"{plan.size:,}", utc_minute(plan.changed)) for plan in saved_plans[:100]]
        head = ("plan", "folder", "bytes", "changed (UTC)")
        lines = [f"Plans ({len(saved_plans)})", "", *markdown_table(head, rows)] if rows else ["Plans: none"]
        return OperationResult("\n".join(lines), {"plans": [msgspec.to_builtins(plan) for plan in saved_plans[:100]]})
    body, cut = past.plan(args.read, directory)
    whole = indented_block(without_secrets(body))
    text, following = _cut(whole, args.offset, args.tokens, "plans", {"read": args.read})
    note = "\n\nThe plan's file is longer; the rest is not read." if cut and following is None else ""
    return OperationResult(
        text + note, {"name": args.read, "text": without_secrets(body)[:20_000], "cut": cut, "next": following}
    )


def _receipts_of(session: SessionCore, id: str) -> Mapping[str, Receipt]:
    """Return the receipts of this session by the message with the summary, else by event; none of another one."""
    if id not in (host_session_id(session), session.id):
        return {}
    receipts = read_receipts(session.events(), session.state_at)
    return {receipt.message or f"{id}#{receipt.seq}": receipt for receipt in receipts}


def _summary_of(receipt: Receipt, id: str) -> Message:
    """Return the summary that a receipt has, as the message that holds it."""
    return Message(id, "", "assistant", receipt.time, parts=(TextPart(id, receipt.summary),))


def _receipt_lines(receipt: Receipt, seen: CoveredRange | None, session: SessionCore) -> tuple[str, ...]:
    """Return the lines that an answer says of a receipt beside the summary."""
    frees = session.settings.compaction.min_freed_percent
    how = TRIGGER_WORDS.get(receipt.trigger, receipt.trigger) + (", taken back by the host" if receipt.undone else "")
    lines = [
        f"- {how}; tokens {token_figures(receipt)}; freed {freed_text(receipt, frees)}",
        f"- live items of the HUD before and after: {count_items(receipt.holds) or 'none'}",
    ]
    if seen is not None and seen.dropped:
        ends = f"{id_cell(seen.dropped[0].id)} to {id_cell(seen.dropped[-1].id)}"
        outputs = ", ".join(f"{id_text(tool)} {count}" for tool, count in seen.outputs)
        lines.append(f"- dropped {len(seen.dropped)} messages, {ends}{f'; outputs: {outputs}' if outputs else ''}")
        lines.append(f"- kept {len(seen.remaining)} messages; the dropped ones are read by `messages` and `message`")
    return tuple(lines)


def whole_transcript(
    transcript: Transcript, id: str, limit: int, clean: Callable[[str], str] = without_secrets
) -> tuple[str, list[dict[str, Any]]]:
    """Return a session's messages, at most `limit`, with all that was said and given back: as markdown, as facts.

    `clean` takes out of the markdown what is not to be read; the facts are always without known forms of secrets.
    """
    texts: list[str] = []
    facts: list[dict[str, Any]] = []
    for message in islice(transcript.messages(id), limit):
        texts.append(_message_text(message, 10**9, tools=True, input_chars=10**9, clean=clean))
        facts.append(_message_facts(message, 10**9, tools=True, input_chars=10**9))
    return "\n\n".join(texts), facts


def _message_text(
    message: Message,
    length: int,
    *,
    tools: bool,
    input_chars: int = _MAX_INPUT_CHARS,
    clean: Callable[[str], str] = without_secrets,
) -> str:
    """Return a message as a transcript has it: a head, then its parts, texts indented; tool output on demand."""
    parts = [f"## {visible(message.role)} {id_cell(message.id)} {utc_minute(message.created)}".rstrip()]
    if message.summary:
        parts[0] += " (summary of a compaction)"
    for part in message.parts:
        line = _part(part, length, input_chars, tools=tools, clean=clean)
        if line:
            parts.append(line)
    if message.error:
        parts.append(f"- ended by {visible(shorten(message.error, MAX_CELL_CHARS))}")
    return "\n".join(parts)


def _part(part: object, length: int, input_chars: int, *, tools: bool, clean: Callable[[str], str]) -> str:
    match part:
        case TextPart(text=text):
            return _deep_block(shorten(clean(text.strip()), length))
        case ReasoningPart(text=text) if tools and text.strip():
            return "- reasoning:\n" + _deep_block(shorten(clean(text.strip()), length))
        case ToolPart():
            out = part.error or part.output
            call_input = visible(shorten(clean(input_line(part)), input_chars))
            head = f"- {id_text(part.tool)} ({visible(part.status)}): {call_input}"
            child = part.metadata.get("sessionId")
            if isinstance(child, str) and child:  # of a sub-agent's session
                head += f"\n  its session: {call_text('memory', 'messages', {'session': child})}"
            if not tools or not out:
                return head.replace(call_input, f"{call_input} → {len(out):,} characters", 1) if out else head
            return f"{head}\n{_deep_block(shorten(clean(out.strip()), length))}"
        case FilePart(path=path) if path:
            return f"- file {visible(path)}"
        case PatchPart(files=files) if files:
            return f"- changed {visible(', '.join(files[:8]))}"
        case CompactionPart(auto=auto):
            return f"- compaction ({'automatic' if auto else 'asked for'})"
    return ""


def _deep_block(text: str) -> str:
    """A longer text as a block that is indented so far that nothing in it is structure, behind a list item either."""
    return "\n".join(f"      {line}" if line else "" for line in visible(text, breaks=True).split("\n"))


def _message_facts(
    message: Message, length: int, *, tools: bool, input_chars: int = _MAX_INPUT_CHARS
) -> dict[str, Any]:
    """Return a message's facts as plain values, texts cut to `length` characters."""
    return {
        "id": message.id,
        "session": message.session_id,
        "role": message.role,
        "at": message.created,
        "model": message.model,
        "summary": message.summary,
        "error": message.error,
        "text": shorten(without_secrets(message_words(message)), length),
        "calls": [
            {
                "tool": part.tool,
                "status": part.status,
                "input": shorten(without_secrets(input_line(part)), input_chars),
                **({"output": shorten(without_secrets(part.error or part.output), length)} if tools else {}),
            }
            for part in message.parts
            if isinstance(part, ToolPart)
        ],
    }
