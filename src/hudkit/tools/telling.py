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
from hudkit.tools.lines import called, stored
from hudkit.tools.operation import Arguments, Loose
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
    from hudkit.transcripts.search import Past

LONGEST = 16
"""Bytes of a token of ordinary text, at most: what has more for each token that is left is not even counted."""

CELL = 80
"""Characters of a cell of a table."""

GIVEN = 160
"""Characters of a call's input in one line."""

Tokens = Annotated[int, Meta(ge=100, le=20_000, description="About how many tokens the answer may have.")]
Id = Annotated[
    Loose, Meta(description="A session's id, or a begin of it that no other has; without it, this session.")
]
OldId = Annotated[Loose, Meta(description="The same as session.")]


class InSession(Arguments, frozen=True):
    session: Id = ""
    sessionId: OldId = ""


class Room:
    """What is left of an answer's bound, in tokens."""

    def __init__(self, tokens: int) -> None:
        self.left = tokens

    def take(self, text: str) -> bool:
        """Whether the text fits, and then it is taken off."""
        if len(text) > self.left * LONGEST:
            return False
        need = count_tokens(text.encode("utf-8", "replace").decode()) + 1
        if need > self.left:
            return False
        self.left -= need
        return True

    def begin(self, text: str) -> int:
        """How many characters of a text that is too long fit, about, and never more; at least one."""
        size = min(len(text), self.left * LONGEST)
        while size > 1 and count_tokens(text[:size].encode("utf-8", "replace").decode()) > self.left:
            size = size * 3 // 4
        return max(size, 1)


def past_of(session: SessionCore) -> Past:
    """The past that the host gave. Raises `OperationError` where it gave none."""
    if session.past is None:
        raise OperationError(
            "this host gives no transcripts", hint="The HUD's own history is there: `history`, `search`, `snapshot`."
        )
    return session.past


def own_id(session: SessionCore) -> str:
    """The host's id of this session."""
    return session.state.session.host_session or session.id.partition("@")[0].rpartition("/")[2]


def meant(session: SessionCore, args: InSession) -> str:
    """The session that is asked about. Raises `OperationError` where its begin fits several."""
    asked = (args.session or args.sessionId).strip()
    if not asked:
        return own_id(session)
    past = past_of(session)
    known = [row.id for row in past.sessions()]
    if asked in known:
        return asked
    alike = [id for id in known if id.startswith(asked)]
    if len(alike) > 1:
        some = ", ".join(map(called, alike[:5]))
        raise OperationError(f"{called(asked)} begins {len(alike)} ids", hint=f"Among them {some}.")
    return alike[0] if alike else asked


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """A markdown table, a line each; no cell can end its row."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return [*lines, *(f"| {' | '.join(cell(one) for one in row)} |" for row in rows)]


def cell(value: object, length: int = CELL) -> str:
    """A value as a cell: one line, shortened; no text can end its cell."""
    return shorten(visible(" ".join(stored(str(value)).split())), length).replace("|", "\\|")


def ident(id: str) -> str:
    """An id as a cell, as it stands: it is what the next call takes."""
    plain = all(char.isalnum() or char in "-_.:#/@%" for char in id)
    return f"`{id}`" if id and plain and id.isascii() else cell(id)


def day(stamp: int) -> str:
    """A time (Unix ms) to the minute, in UTC; a clock may have been anywhere."""
    try:
        return datetime.fromtimestamp(stamp / 1000, UTC).strftime("%Y-%m-%d %H:%M") if stamp else ""
    except (ValueError, OverflowError, OSError):
        return f"{stamp} ms"


def moment(text: str, name: str) -> int:
    """Unix ms of a day or a time as a caller writes it (2026-11-21, 2026-11-21T09:30), or `Nd`, `Nh`: so long before
    what is newest. Negative: an age. Raises `OperationError`."""
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


def told(message: Message, length: int, *, tools: bool) -> str:
    """A message as a transcript has it: a head, then its parts, texts indented; tool output on demand."""
    parts = [f"## {visible(message.role)} {ident(message.id)} {day(message.created)}".rstrip()]
    if message.summary:
        parts[0] += " (summary of a compaction)"
    for part in message.parts:
        line = _part(part, length, tools=tools)
        if line:
            parts.append(line)
    if message.error:
        parts.append(f"- ended by {visible(shorten(message.error, CELL))}")
    return "\n".join(parts)


def deep(text: str) -> str:
    """A longer text as a block that is indented so far that nothing in it is structure, behind a list item either."""
    return "\n".join(f"      {one}" if one else "" for one in visible(text, breaks=True).split("\n"))


def _part(part: object, length: int, *, tools: bool) -> str:
    match part:
        case TextPart(text=text):
            return deep(shorten(stored(text.strip()), length))
        case ReasoningPart(text=text) if tools and text.strip():
            return "- reasoning:\n" + deep(shorten(stored(text.strip()), length))
        case ToolPart():
            out = part.error or part.output
            head = f"- {called(part.tool)} ({visible(part.status)}): {visible(shorten(stored(given(part)), GIVEN))}"
            if not tools or not out:
                return f"{head} → {len(out):,} characters" if out else head
            return f"{head}\n{deep(shorten(stored(out.strip()), length))}"
        case FilePart(path=path) if path:
            return f"- file {visible(path)}"
        case PatchPart(files=files) if files:
            return f"- changed {visible(', '.join(files[:8]))}"
        case CompactionPart(auto=auto):
            return f"- compaction ({'automatic' if auto else 'asked for'})"
    return ""


def given(part: ToolPart) -> str:
    """A call's input in one line."""
    return ", ".join(f"{name}: {value}" for name, value in part.input.items())


def plain_message(message: Message, length: int, *, tools: bool) -> dict[str, Any]:
    """A message's facts."""
    return {
        "id": message.id,
        "session": message.session_id,
        "role": message.role,
        "at": message.created,
        "model": message.model,
        "summary": message.summary,
        "error": message.error,
        "text": shorten(stored(texts(message)), length),
        "calls": [
            {
                "tool": part.tool,
                "status": part.status,
                "input": shorten(stored(given(part)), GIVEN),
                **({"output": shorten(stored(part.error or part.output), length)} if tools else {}),
            }
            for part in message.parts
            if isinstance(part, ToolPart)
        ],
    }


def texts(message: Message) -> str:
    """What a message says, without its calls."""
    return "\n\n".join(part.text for part in message.parts if isinstance(part, TextPart) and part.text.strip())
