"""Who is logged in to a world's page: sessions in memory, each with a token for its forms."""

from __future__ import annotations

import hmac
from secrets import token_urlsafe

import msgspec

from hudkit.web.page_guard import OneTimeToken

_MAX_SESSIONS = 16
"""Sessions at a time; a login beyond that ends the oldest."""


class Notice(msgspec.Struct, frozen=True):
    """What the last form came to; shown until the next one. `secret` is a key that was made."""

    text: str
    kind: str = "done"
    """done, refused or secret"""
    secret: str = ""


class LoginSession(msgspec.Struct):
    """One browser that is logged in, and what its next page shows beside the world."""

    id: str
    csrf: str
    notice: Notice | None = None
    notices: int = 0
    """How many notices there were; each has an id of its own, so that a screen reader speaks it."""
    posted: int = 0
    """How many messages were sent: the composer is emptied when this changes."""
    draft: str = ""
    """A message that was refused, for the composer."""
    last_read: dict[int, int] = {}
    """The id of the last message that was seen, by room."""
    world: str = ""
    """Which world is looked at, where it is not the one that is served."""
    knows: bool = False
    """Whether the lines that say what this is were put away."""

    def look_at(self, world: str) -> None:
        """Look at another world: what was read and written in this one does not hold there."""
        if world != self.world:
            self.world, self.last_read, self.draft = world, {}, ""

    def owns_form(self, csrf: str) -> bool:
        """Return whether a form carries this session's token."""
        return hmac.compare_digest(csrf.encode(), self.csrf.encode())


class LoginSessions:
    """The open sessions by the value of their cookie. `token` is what a person logs in with."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self.once = OneTimeToken()
        """The token of the link that logs in without it, once."""
        self._open: dict[str, LoginSession] = {}

    def login(self, token: str, previous: str = "") -> LoginSession | None:
        """Open a session in place of the one with the id `previous`, and return it; `None` where the token is wrong.

        A login always makes a new id: one that somebody else put into the browser opens nothing.
        """
        if not hmac.compare_digest(token.strip().encode(), self._token):
            return None
        return self._new_session(previous)

    def redeem(self, once: str) -> LoginSession | None:
        """Open a session for who comes with the one-time link, and return it; `None` where it is used up."""
        return self._new_session("") if self.once.redeem(once) else None

    def _new_session(self, previous: str) -> LoginSession:
        self._open.pop(previous, None)
        while len(self._open) >= _MAX_SESSIONS:
            del self._open[next(iter(self._open))]
        session = LoginSession(token_urlsafe(32), token_urlsafe(32))
        self._open[session.id] = session
        return session

    def find(self, id: str) -> LoginSession | None:
        """Return the open session of a cookie's value."""
        return self._open.get(id)

    def logout(self, session: LoginSession) -> None:
        """End a session."""
        self._open.pop(session.id, None)

    def is_open(self, session: LoginSession) -> bool:
        """Return whether a session has not ended."""
        return session.id in self._open
