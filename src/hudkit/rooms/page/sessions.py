"""Who is logged in: sessions in memory, each with a token for its forms and what it was told last."""

from __future__ import annotations

import hmac
from secrets import token_urlsafe

import msgspec

MOST = 16
"""Sessions at a time; a login beyond that ends the oldest."""


class Notice(msgspec.Struct, frozen=True):
    """What the last deed came to; shown until the next one. `secret` is a key that was made."""

    text: str
    kind: str = "done"
    """done, refused or secret"""
    secret: str = ""


class Session(msgspec.Struct):
    id: str
    csrf: str
    notice: Notice | None = None
    told: int = 0
    """How many notices there were."""
    said: int = 0
    """How often something was said: the composer is emptied when this changes."""
    draft: str = ""
    """What could not be said, for the composer."""
    read: dict[int, int] = {}
    """The last message that was seen, by room."""


class Sessions:
    """Sessions by their cookie. `token` is what a person logs in with."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self._open: dict[str, Session] = {}

    def login(self, token: str, before: str = "") -> Session | None:
        """A new session, in place of the one `before`; `None` where the token is another."""
        if not hmac.compare_digest(token.strip().encode(), self._token):
            return None
        self._open.pop(before, None)
        while len(self._open) >= MOST:
            del self._open[next(iter(self._open))]
        made = Session(token_urlsafe(32), token_urlsafe(32))
        self._open[made.id] = made
        return made

    def find(self, id: str) -> Session | None:
        return self._open.get(id)

    def logout(self, session: Session) -> None:
        self._open.pop(session.id, None)

    def holds(self, session: Session) -> bool:
        """Whether a session has not ended."""
        return session.id in self._open


def genuine(session: Session, given: str) -> bool:
    """Whether a form carries its session's token."""
    return hmac.compare_digest(given.encode(), session.csrf.encode())
