"""What stands before the page: host, origin, session, kind and size of a form, in this order, on every route.

Without a session there is the login form and its style, and nothing else. Sources: abuse cases B1, B3, B4, B5, B7,
F9, F10.
"""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hudkit.rooms.page.sessions import Sessions
from hudkit.rooms.page.views.login import login_page

LOGIN, STYLE = "/login", "/static/page.css"
MOST_BODY = 256 * 1024
"""Bytes of a form."""

_FORM = "application/x-www-form-urlencoded"
_REFUSALS = {
    403: "The request comes from another site.",
    413: "The form is too long.",
    415: "Only forms are taken.",
    421: "The request names another host.",
}

POLICY = "; ".join(
    (
        "default-src 'self'",
        "img-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with `no-referrer` a browser says `Origin: null` of our own forms
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""On every answer."""


class Guard:
    """An ASGI application behind checks. `port` is the page's, `hosts` the names that a browser may call it by.

    What passes has the request's session in `scope["state"]["session"]`, `None` at the login.
    """

    def __init__(self, app: ASGIApp, sessions: Sessions, port: int, hosts: tuple[str, ...]) -> None:
        self._app = app
        self._sessions = sessions
        self._cookie = cookie_of(port)
        self._hosts = frozenset(f"{name}:{port}" for name in hosts)
        self._origins = frozenset(f"http://{name}" for name in self._hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # a WebSocket, which nothing here speaks
            await send({"type": "websocket.close", "code": 1008})
            return

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name.lower() for name, _ in message["headers"]}
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *(one for one in extra if one[0] not in there)]
            await send(message)

        request = Request(scope, receive)
        answer = self._refusal(request) or self._admit(request)
        await (answer or self._app)(scope, receive, sealed)

    def _refusal(self, request: Request) -> Response | None:
        headers = request.headers
        if [value.lower() for value in headers.getlist("host")] not in [[host] for host in self._hosts]:
            return _refused(421)
        if any(value not in self._origins for value in headers.getlist("origin")):
            return _refused(403)
        if any(value not in ("same-origin", "none") for value in headers.getlist("sec-fetch-site")):
            return _refused(403)
        return None

    def _admit(self, request: Request) -> Response | None:
        """Find the session; the answer where there is none, or where the request is no form that may be sent."""
        path, method = request.url.path, request.method
        session = self._sessions.find(_cookie(request, self._cookie))
        request.scope.setdefault("state", {})["session"] = session
        if session is None and path != LOGIN and not (path == STYLE and method == "GET"):
            return Response(login_page(), 401, media_type="text/html")
        if method == "POST":
            if _media(request) != _FORM:
                return _refused(415)
            length = request.headers.get("content-length", "")
            if not length.isdecimal() or int(length[:12]) > MOST_BODY:
                return _refused(413)
        return None


def cookie_of(port: int) -> str:
    """The name of the session's cookie: cookies are shared between the ports of a host, so it has the port in it."""
    return f"hudkit-rooms-{port}"


def _media(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _cookie(request: Request, name: str) -> str:
    try:
        found = SimpleCookie(request.headers.get("cookie", "")[:4096]).get(name)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def _refused(status: int) -> Response:
    return Response(_REFUSALS[status], status, media_type="text/plain")
