"""How answers about the past are written: tables, transcripts and pages of bounded length, none of whose text is
structure.

An answer has a bound in tokens (`tokens`). What does not fit is not lost: the answer ends with the call that gets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from hudkit.compose import shorten, visible
from hudkit.errors import OperationError
from hudkit.hud import SessionCore
from hudkit.tokens import count_tokens
from hudkit.tools.answer_text import id_text, without_secrets
from hudkit.tools.operation import AnyText, OperationArguments
from hudkit.transcripts.transcript import (
    CompactionPart,
    FilePart,
    Message,
    PatchPart,
    ReasoningPart,
    TextPart,
    ToolPart,
)

if TYPE_CHECKING:
    from hudkit.transcripts.search import PastSessions

_MAX_TOKEN_BYTES = 16
"""Bytes of a token of ordinary text, at most: what has more for each token that is left is not even counted."""

MAX_CELL_CHARS = 80
"""Characters of a cell of a table."""

_MAX_INPUT_CHARS = 160
"""Characters of a call's input in one line."""

Tokens = Annotated[int, Meta(ge=100, le=20_000, description="About how many tokens the answer may have.")]
Id = Annotated[
    AnyText, Meta(description="A session's id, or a begin of it that no other has; without it, this session.")
]
OldId = Annotated[AnyText, Meta(description="The same as session.")]


class SessionArguments(OperationArguments, frozen=True):
    """The arguments of an operation that reads one session, this one or another."""

    session: Id = ""
    sessionId: OldId = ""


class TokenRoom:
    """What is left of an answer's bound, in tokens."""

    def __init__(self, tokens: int) -> None:
        self.left = tokens

    def take(self, text: str) -> bool:
        """Return whether the text fits; then it is taken off."""
        # Counting a megabyte takes longer than refusing it.
        if len(text) > self.left * _MAX_TOKEN_BYTES:
            return False
        need = count_tokens(text.encode("utf-8", "replace").decode()) + 1
        if need > self.left:
            return False
        self.left -= need
        return True

    def begin(self, text: str) -> int:
        """Return how many characters of a text that is too long fit, about, and never more; at least one."""
        size = min(len(text), self.left * _MAX_TOKEN_BYTES)
        # A quarter less each time: a few counts, and never too much.
        while size > 1 and count_tokens(text[:size].encode("utf-8", "replace").decode()) > self.left:
            size = size * 3 // 4
        return max(size, 1)


def transcripts_of(session: SessionCore) -> PastSessions:
    """Return the transcripts that the host gave. Raises `OperationError` where it gave none."""
    if session.past is None:
        raise OperationError(
            "this host gives no transcripts", hint="The HUD's own history is there: `history`, `search`, `snapshot`."
        )
    return session.past


def host_session_id(session: SessionCore) -> str:
    """Return the host's id of this session."""
    return session.state.session.host_session or session.id.partition("@")[0].rpartition("/")[2]


def resolve_session_id(session: SessionCore, args: SessionArguments) -> str:
    """Return the session that is asked about. Raises `OperationError` where its beginning fits several."""
    asked = (args.session or args.sessionId).strip()
    if not asked:
        return host_session_id(session)
    past = transcripts_of(session)
    ids = [row.id for row in past.sessions()]
    if asked in ids:
        return asked
    alike = [id for id in ids if id.startswith(asked)]
    if len(alike) > 1:
        some = ", ".join(map(id_text, alike[:5]))
        raise OperationError(f"{id_text(asked)} begins {len(alike)} ids", hint=f"Among them {some}.")
    return alike[0] if alike else asked


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return a markdown table, a line each; no cell can end its row."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return [*lines, *(f"| {' | '.join(table_cell(value) for value in row)} |" for row in rows)]


def table_cell(value: object, length: int = MAX_CELL_CHARS) -> str:
    """Return a value as a cell: one line, shortened; no text can end its cell."""
    return shorten(visible(" ".join(without_secrets(str(value)).split())), length).replace("|", "\\|")


def id_cell(id: str) -> str:
    """Return an id as a cell, as it stands: it is what the next call takes."""
    plain = all(char.isalnum() or char in "-_.:#/@%" for char in id)
    return f"`{id}`" if id and plain and id.isascii() else table_cell(id)


def utc_minute(stamp: int) -> str:
    """Return a time (Unix ms) to the minute, in UTC; a clock may have been anywhere."""
    try:
        return datetime.fromtimestamp(stamp / 1000, UTC).strftime("%Y-%m-%d %H:%M") if stamp else ""
    except (ValueError, OverflowError, OSError):
        return f"{stamp} ms"


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
        raise OperationError(f'"{name}" is no time', hint='Write "2026-11-21", "2026-11-21T09:30" or "7d".') from None


def message_text(message: Message, length: int, *, tools: bool) -> str:
    """Return a message as a transcript has it: a head, then its parts, texts indented; tool output on demand."""
    parts = [f"## {visible(message.role)} {id_cell(message.id)} {utc_minute(message.created)}".rstrip()]
    if message.summary:
        parts[0] += " (summary of a compaction)"
    for part in message.parts:
        line = _part(part, length, tools=tools)
        if line:
            parts.append(line)
    if message.error:
        parts.append(f"- ended by {visible(shorten(message.error, MAX_CELL_CHARS))}")
    return "\n".join(parts)


def _deep_block(text: str) -> str:
    """A longer text as a block that is indented so far that nothing in it is structure, behind a list item either."""
    return "\n".join(f"      {line}" if line else "" for line in visible(text, breaks=True).split("\n"))


def _part(part: object, length: int, *, tools: bool) -> str:
    match part:
        case TextPart(text=text):
            return _deep_block(shorten(without_secrets(text.strip()), length))
        case ReasoningPart(text=text) if tools and text.strip():
            return "- reasoning:\n" + _deep_block(shorten(without_secrets(text.strip()), length))
        case ToolPart():
            out = part.error or part.output
            call_input = visible(shorten(without_secrets(input_line(part)), _MAX_INPUT_CHARS))
            head = f"- {id_text(part.tool)} ({visible(part.status)}): {call_input}"
            if not tools or not out:
                return f"{head} → {len(out):,} characters" if out else head
            return f"{head}\n{_deep_block(shorten(without_secrets(out.strip()), length))}"
        case FilePart(path=path) if path:
            return f"- file {visible(path)}"
        case PatchPart(files=files) if files:
            return f"- changed {visible(', '.join(files[:8]))}"
        case CompactionPart(auto=auto):
            return f"- compaction ({'automatic' if auto else 'asked for'})"
    return ""


def input_line(part: ToolPart) -> str:
    """Return a call's input in one line."""
    return ", ".join(f"{name}: {value}" for name, value in part.input.items())


def message_facts(message: Message, length: int, *, tools: bool) -> dict[str, Any]:
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
                "input": shorten(without_secrets(input_line(part)), _MAX_INPUT_CHARS),
                **({"output": shorten(without_secrets(part.error or part.output), length)} if tools else {}),
            }
            for part in message.parts
            if isinstance(part, ToolPart)
        ],
    }


def message_words(message: Message) -> str:
    """Return what a message says, without its calls."""
    return "\n\n".join(part.text for part in message.parts if isinstance(part, TextPart) and part.text.strip())
