"""The operation that gets back what was pruned: the whole output of a call, from the host's own transcript."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta

from hudkit.compose import shorten, visible
from hudkit.errors import OperationError
from hudkit.hud import SessionCore
from hudkit.hud.session_keys import keys_with_id
from hudkit.log.payloads import OutputsPrune
from hudkit.log.secret_patterns import without_secrets
from hudkit.tools.answer_text import id_text
from hudkit.tools.help import call_text
from hudkit.tools.operation import AnyText, OperationResult, Text, reading
from hudkit.tools.transcript_text import (
    MAX_CELL_CHARS,
    SessionArguments,
    TokenRoom,
    Tokens,
    input_line,
    resolve_session_id,
    transcripts_of,
)
from hudkit.tools.transcripts import Offset
from hudkit.transcripts.transcript import Message, ToolPart

_INDENT = "    "

_MAX_PAGE_BYTES, _MAX_PAGE_LINES = 28_000, 1_500
"""Of one page, whatever its tokens, so that no host cuts it: our agent's loop does at 30,000 characters, OpenCode at
50 KB and 2,000 lines."""


class _OutputArguments(SessionArguments, frozen=True):
    id: Annotated[
        Text, Meta(description="The number in the line that stands for it (p1), or the id of the call.")
    ] = ""
    call: Annotated[AnyText, Meta(description="The same as id.")] = ""
    offset: Offset = 0
    tokens: Tokens = 10_000


@reading("output", _OutputArguments, example={"id": "p1"})
def _output(session: SessionCore, args: _OutputArguments) -> OperationResult:
    """Read what a call of a tool gave back, in full, pruned or not; a long one in pages.

    The indented block has the very characters of the output, but for secrets; pages join without a gap.
    """
    asked = (args.id or args.call).strip()
    if not asked:
        raise OperationError(
            'output needs the argument "id"', hint='The line that stands for it tells it, as in "p1".'
        )
    id = resolve_session_id(session, args)
    named = bool(args.session or args.sessionId)
    transcript, _ = transcripts_of(session).find(id)
    part = _finished_part(transcript.messages(id), _call_of(session, asked, id if named else ""))
    if part is None:
        raise OperationError(f"no output {id_text(asked)} in this session", hint="`messages` tells what there is.")
    whole = without_secrets(part.error or part.output)
    call_input = visible(shorten(without_secrets(input_line(part)), MAX_CELL_CHARS))
    title = f"{id_text(part.tool)} ({visible(part.status)}): {call_input}"
    page, end = _page(whole, args.offset, args.tokens)
    text = f"{title}, {len(whole):,} characters\n\n{_exact_block(page)}"
    following = end if end < len(whole) else None
    if following is not None:
        more = {**({"session": id} if named else {}), "id": asked, "offset": end}
        text += f"\n\nIt goes on: {call_text('memory', 'output', more)}"
    facts = {"call": part.call_id, "tool": part.tool, "characters": len(whole), "output": page, "next": following}
    return OperationResult(text, facts)


def _call_of(session: SessionCore, asked: str, other: str) -> str:
    """The call that a number stands for, in this session or the `other` one; what is no number is a call's id."""
    # A number of ours is `p` and digits; a host's ids are anything else.
    if not (asked[:1] == "p" and asked[1:].isascii() and asked[1:].isdecimal() and len(asked) < 12):
        return asked
    keys = keys_with_id(session.log.sessions(), other) if other else [session.id]
    for key in keys:
        # Numbers are counted over the whole log, because a stub keeps its number through every later pruning.
        number, seen = int(asked[1:]), 0
        for event in session.log.read(key) if other else session.events():
            if isinstance(event.payload, OutputsPrune):
                stubs = event.payload.stubs
                if seen < number <= seen + len(stubs):
                    return stubs[number - seen - 1].call
                seen += len(stubs)
    return asked  # a host may number its calls so


def _finished_part(messages: Iterable[Message], call: str) -> ToolPart | None:
    parts = (part for message in messages for part in message.parts if isinstance(part, ToolPart))
    return next((part for part in parts if part.call_id == call and part.done), None)


def _page(whole: str, offset: int, tokens: int) -> tuple[str, int]:
    """What fits of a text from a place on, whole lines where it can be, and where it ends."""
    start = min(offset, len(whole))
    room = TokenRoom(tokens)
    end, size, lines = start, 0, 0
    while end < len(whole):
        stop = whole.find("\n", end) + 1 or len(whole)
        size += len(whole[end:stop].encode("utf-8", "replace")) + len(_INDENT)
        lines += 1
        if size > _MAX_PAGE_BYTES or lines > _MAX_PAGE_LINES or not room.take(whole[end:stop]):
            # One line longer than a page: a part of it, since an empty page would never get on.
            if end == start:
                end += room.begin(whole[end : min(stop, end + _MAX_PAGE_BYTES // 4)])
            break
        end = stop
    return whole[start:end], end


def _exact_block(text: str) -> str:
    """A page as an indented block with its very bytes: no sign is made visible, because the agent may have to write
    it again (tabs in a Makefile). Taken off the indentation of its lines, it is the page."""
    return "\n".join(f"{_INDENT}{line}" if line else "" for line in text.split("\n"))
