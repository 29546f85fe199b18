"""How answers about the past are written: tables, transcripts and pages of bounded length, none of whose text is
structure.

An answer has a bound in tokens (`tokens`). What does not fit is not lost: the answer ends with the call that gets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from hudkit.compose import shorten, visible
from hudkit.errors import OperationError
from hudkit.hud import SessionCore
from hudkit.log.secret_patterns import without_secrets
from hudkit.tokens import count_tokens
from hudkit.tools.answer_text import copied_id, id_text
from hudkit.tools.operation import AnyText, OperationArguments
from hudkit.tools.spellings import THIS_SESSION
from hudkit.transcripts.transcript import (
    Message,
    TextPart,
    ToolPart,
    Transcript,
)

if TYPE_CHECKING:
    from hudkit.transcripts.search import PastSessions

_MAX_TOKEN_BYTES = 16
"""Bytes of a token of ordinary text, at most: what has more for each token that is left is not even counted."""

MAX_CELL_CHARS = 80
"""Characters of a cell of a table."""

Tokens = Annotated[int, Meta(ge=100, le=20_000, description="About how many tokens the answer may have.")]
Id = Annotated[
    AnyText, Meta(description="A session's id, or its beginning where no other begins so; without it, this session.")
]
OldId = Annotated[AnyText, Meta(description="The same as session.")]


class SessionArguments(OperationArguments, frozen=True):
    """The arguments of an operation that reads one session, this one or another."""

    session: Id = ""
    sessionId: OldId = ""


class TokenRoom:
    """What is left of an answer's bound, in tokens.

    A text has at most as many tokens as bytes. While that alone says that all fits, nothing is counted: a short
    answer does without the vocabulary, which takes longer to load than the rest of it.
    """

    def __init__(self, tokens: int) -> None:
        self._left = tokens
        self._uncounted: list[bytes] = []
        self._most = 0
        """Tokens that the uncounted texts have at most."""

    @property
    def left(self) -> int:
        """Return the tokens that are left, counted."""
        self._left -= sum([_tokens_of(text) for text in self._uncounted])
        self._uncounted, self._most = [], 0
        return self._left

    def take(self, text: str) -> bool:
        """Return whether the text fits; then it is taken off."""
        # Counting a megabyte takes longer than refusing it.
        if len(text) > self._left * _MAX_TOKEN_BYTES:
            return False
        # Lone surrogates cannot be counted as UTF-8; what stands for them is as long.
        encoded = text.encode("utf-8", "replace")
        if self._most + len(encoded) + 1 > self._left and _tokens_of(encoded) > self.left:
            return False
        self._uncounted.append(encoded)
        self._most += len(encoded) + 1
        return True

    def begin(self, text: str) -> int:
        """Return how many characters of a text that is too long fit, about, and never more; at least one."""
        size = min(len(text), self.left * _MAX_TOKEN_BYTES)
        # A quarter less each time: a few counts, and never too much.
        while size > 1 and count_tokens(text[:size].encode("utf-8", "replace").decode()) > self.left:
            size = size * 3 // 4
        return max(size, 1)


def _tokens_of(text: bytes) -> int:
    """The tokens of a text that stands in an answer: one more for the line break."""
    return count_tokens(text.decode()) + 1


def transcripts_of(session: SessionCore) -> PastSessions:
    """Return the transcripts that the host gave. Raises `OperationError` where it gave none."""
    if session.past is None:
        raise OperationError(
            "this host gives no transcripts",
            hint="The HUD's own history is there: `history`, `search`, `snapshot`.",
            instead=("history", {}),
        )
    return session.past


def host_session_id(session: SessionCore) -> str:
    """Return the host's id of this session."""
    return session.state.session.host_session or session.id.partition("@")[0].rpartition("/")[2]


def resolve_session_id(session: SessionCore, args: SessionArguments) -> str:
    """Return the session that is asked about. Raises `OperationError` where its beginning fits several."""
    asked = copied_id(args.session or args.sessionId)
    past = transcripts_of(session)
    if asked.casefold() in THIS_SESSION:
        # Where no conversation is kept, as of a client of MCP, what the log has of the session can be read.
        own = (host_session_id(session), session.id)
        return next(filter(past.has_session, own), own[0])
    ids = [row.id for row in past.sessions()]
    if asked in ids:
        return asked
    # What nothing begins with is passed on: the reader of transcripts says better what there is.
    alike = [id for id in ids if id.startswith(asked)]
    if len(alike) > 1:
        some = ", ".join(map(id_text, alike[:5]))
        raise OperationError(
            f"{id_text(asked)} begins {len(alike)} ids", hint=f"Among them {some}.", instead=("sessions", {})
        )
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
    # In backticks nothing is escaped, so that a copied id is the id.
    plain = all(char.isalnum() or char in "-_.:#/@%" for char in id)
    return f"`{id}`" if id and plain and id.isascii() else table_cell(id)


SHORT_ID_CHARS = 10
"""Characters of the end of a message's id by which answers name it: hosts' ids begin with the time."""


def short_message_id(id: str) -> str:
    """Return the end of a message's id, which `resolve_message_id` finds again; a short id as it is."""
    return id if len(id) <= SHORT_ID_CHARS + 4 else id[-SHORT_ID_CHARS:]


def resolve_message_id(transcript: Transcript, session_id: str, asked: str) -> str:
    """Return the id of the message that an id or the end of one names; what names none or several, as it is."""
    if len(asked) != SHORT_ID_CHARS:
        return asked
    ids = [message.id for message in transcript.messages(session_id)]
    alike = [id for id in ids if id.endswith(asked)]
    return alike[0] if asked not in ids and len(alike) == 1 else asked


def utc_minute(stamp: int) -> str:
    """Return a time (Unix ms) to the minute, in UTC; a clock may have been anywhere."""
    try:
        return datetime.fromtimestamp(stamp / 1000, UTC).strftime("%Y-%m-%d %H:%M") if stamp else ""
    except (ValueError, OverflowError, OSError):
        return f"{stamp} ms"


def input_line(part: ToolPart) -> str:
    """Return a call's input in one line."""
    return ", ".join(f"{name}: {value}" for name, value in part.input.items())


def message_words(message: Message) -> str:
    """Return what a message says, without its calls."""
    return "\n\n".join(part.text for part in message.parts if isinstance(part, TextPart) and part.text.strip())
