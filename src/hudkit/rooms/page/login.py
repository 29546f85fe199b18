"""Who is logged in to a world's page: sessions in memory, each with a token for its forms; and what strangers see."""

from __future__ import annotations

import hmac
from secrets import token_urlsafe

import msgspec

from hudkit.compose.formats.html.hast import HtmlElement
from hudkit.web.elements import Child, e, write

LOGIN_PATH = "/login"
STYLE_PATH = "/static/page.css"

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

    def owns_form(self, csrf: str) -> bool:
        """Return whether a form carries this session's token."""
        return hmac.compare_digest(csrf.encode(), self.csrf.encode())


class LoginSessions:
    """The open sessions by the value of their cookie. `token` is what a person logs in with."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self._open: dict[str, LoginSession] = {}

    def login(self, token: str, previous: str = "") -> LoginSession | None:
        """Open a session in place of the one with the id `previous`, and return it; `None` where the token is wrong.

        A login always makes a new id: one that somebody else put into the browser opens nothing.
        """
        if not hmac.compare_digest(token.strip().encode(), self._token):
            return None
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


def login_page(fault: str = "") -> str:
    """Return the HTML that asks for the token. It says nothing about the world."""
    return write(
        _bare_page(
            "Log in",
            e("h1", "hudkit rooms"),
            e("p", "The token stands in the terminal in which the rooms are served."),
            e(
                "form",
                e(
                    "label",
                    e("span", "Token", class_="label"),
                    e(
                        "input",
                        type="password",
                        name="token",
                        required=True,
                        autofocus=True,
                        autocomplete="current-password",
                        maxlength=200,
                    ),
                    class_="field",
                ),
                e("p", fault, role="alert", class_="fault") if fault else None,
                e("button", "Log in", type="submit", class_="button strong"),
                method="post",
                action=LOGIN_PATH,
            ),
        )
    )


def message_page(text: str) -> str:
    """Return the HTML of a page that says one thing, and leads back."""
    back = e("p", e("a", "Back", href="/"))
    return write(_bare_page("hudkit rooms", e("h1", "hudkit rooms"), e("p", text), back))


def _bare_page(title: str, *children: Child) -> HtmlElement:
    return e(
        "html",
        e(
            "head",
            e("meta", charset="utf-8"),
            e("title", title),
            e("meta", name="viewport", content="width=device-width, initial-scale=1"),
            e("link", rel="stylesheet", href=STYLE_PATH),
        ),
        e("body", e("main", children, class_="card"), class_="alone"),
        lang="en",
    )
