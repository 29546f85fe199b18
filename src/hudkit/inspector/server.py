"""Serving the inspector on a port of this machine: pages that read the log, a stream that says when to look again.

There is no route that changes anything: every one answers `GET` alone. Who comes with the one-time link gets a
cookie; without it there is one page, which says how to get a link. The log is read in one thread, one request after
the other, so that a slow one does not stop the streams.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from secrets import token_urlsafe
from typing import TypeVar

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Scope

from hudkit.inspector.inspected_log import InspectedLog
from hudkit.inspector.pages.page_shell import STYLE
from hudkit.web.elements import e, write
from hudkit.web.http_listener import ListenerLimits, listen_tcp, make_server
from hudkit.web.news_stream import NewsStreams
from hudkit.web.page_answers import (
    BASE_STYLE,
    SECURITY_HEADERS,
    ErrorPages,
    StaticFiles,
    card_page,
    cookie_value,
    html_answer,
)
from hudkit.web.page_guard import Headers, OneTimeToken, PageGuard, browser_hosts, loopback_address

T = TypeVar("T")

_LIMITS = ListenerLimits(connections=128, keep_alive_seconds=5)
_PUBLIC_PATHS = (f"/static/{BASE_STYLE}", f"/static/{STYLE}")
_MAX_STREAMS = 16
"""Pages that are told of news at a time."""
_NEWS_SECONDS = 0.5
"""Seconds between two looks for news of a session; a list of thousands is looked at less often."""
_LIST_NEWS_SECONDS = 2.0

_REFUSALS = {
    403: "The request comes from another site.",
    415: "Nothing can be sent here.",
    421: "The request names another host.",
}
_ERROR_PAGES = ErrorPages(
    "hudkit inspect",
    STYLE,
    "All sessions",
    {
        400: "This address cannot be read.",
        404: "There is no such page.",
        405: "These pages are only read.",
        503: "Too many pages are open.",
    },
    store="The log cannot be read",
    internal="The page met an error of its own. Its terminal says more.",
)


class _OneTimeLink:
    """The way in: a token that works once, and the cookie that it is exchanged for."""

    def __init__(self) -> None:
        self.once = OneTimeToken()
        self.cookie = token_urlsafe(32)

    def admits(self, cookie: str) -> bool:
        """Return whether a request with this cookie may come in."""
        return self.once.is_used and hmac.compare_digest(cookie.encode(), self.cookie.encode())


async def serve_inspector(
    inspected: InspectedLog,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    end: Awaitable[object] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve the pages until `end` is done or the process is interrupted.

    `say` is called with the one-time link once it can be opened. Raises `ConfigError` where other machines could
    reach `host`, or the port is taken.
    """
    listener = listen_tcp(loopback_address(host), port)
    address = listener.getsockname()
    hosts = browser_hosts(address[0])
    link = _OneTimeLink()
    app = _application(inspected, link, address[1], hosts, lambda: server.should_exit)
    server = make_server(app, _LIMITS, grace_seconds=1, signals=end is None)
    serving = asyncio.ensure_future(server.serve([listener]))
    inspected.start()
    say(f"http://{hosts[0]}:{address[1]}/?once={link.once.token}")
    ends = [serving] if end is None else [serving, asyncio.ensure_future(end)]
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        server.should_exit = True
        await serving


def cookie_name(port: int) -> str:
    """Return the name of the cookie: the ports of a host share their cookies, so it has the port in it."""
    return f"hudkit-inspector-{port}"


def _application(
    inspected: InspectedLog, link: _OneTimeLink, port: int, hosts: tuple[str, ...], is_ending: Callable[[], bool]
) -> ASGIApp:
    routes = _PageRoutes(inspected, is_ending)
    pages = [Route(path, handler, methods=["GET"]) for path, handler in routes.pages()]
    inner = Starlette(
        routes=pages,
        exception_handlers=_ERROR_PAGES.handlers(),
    )
    inner.router.redirect_slashes = False
    name = cookie_name(port)

    def check_access(scope: Scope, headers: Headers) -> ASGIApp | None:
        """Return the answer for who has no cookie: with a link that was not used, the way in."""
        if link.admits(cookie_value(headers, name)):
            return None
        is_read = scope["method"] in ("GET", "HEAD")
        if scope["path"] in _PUBLIC_PATHS and is_read:
            return None
        token = Request(scope).query_params.get("once", "")
        if scope["path"] == "/" and scope["method"] == "GET" and link.once.redeem(token):
            answer = RedirectResponse("/", 303)
            answer.set_cookie(name, link.cookie, httponly=True, samesite="strict", path="/")
            return answer
        return html_answer(_closed_page(used=bool(token)), 401)

    return PageGuard(
        inner,
        port=port,
        hosts=hosts,
        media="none",
        check_access=check_access,
        refuse=lambda status: Response(_REFUSALS[status], status, media_type="text/plain"),
        headers=SECURITY_HEADERS,
    )


class _PageRoutes:
    """The endpoints: each reads its address, and lets the one thread that reads the log make the page."""

    def __init__(self, inspected: InspectedLog, is_ending: Callable[[], bool]) -> None:
        self._inspected = inspected
        self._reader = ThreadPoolExecutor(1, "inspector-pages")
        self._static = StaticFiles("hudkit.inspector")
        self._streams = NewsStreams(_MAX_STREAMS, "news", 2_000, is_ending)

    def pages(self) -> list[tuple[str, Callable[[Request], Awaitable[Response]]]]:
        """Return the paths with their endpoints."""
        inspected = self._inspected
        read = {
            "/": inspected.sessions_page,
            "/session": inspected.session_page,
            "/call": inspected.call_page,
            "/fit": inspected.fit_fragment,
            "/diff": inspected.diff_page,
            "/compactions": inspected.compactions_page,
            "/search": inspected.search_page,
        }
        rows = [(path, self._page(render)) for path, render in read.items()]
        return [*rows, ("/live", self.live), ("/static/{file:path}", self.static)]

    def _page(self, render: Callable[[dict[str, str]], tuple[str, bool]]) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            values = {name: value[:1_000] for name, value in request.query_params.items()}
            text, whole = await self._in_reader(lambda: render(values))
            page = html_answer(text)
            if not whole:  # the log is read in portions: the browser asks for the next one
                page.headers["refresh"] = "1"
            return page

        return answer

    async def _in_reader(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._reader, work)

    async def live(self, request: Request) -> Response:
        """Answer with the stream of a page: a line whenever its session, or any, went on behind event `seq`."""
        key = request.query_params.get("id", "")
        pause = _NEWS_SECONDS if key else _LIST_NEWS_SECONDS
        return self._streams.answer(
            request, lambda: self._in_reader(lambda: self._inspected.progress(key)), pause=pause
        )

    async def static(self, request: Request) -> Response:
        """Answer with a file: one of those that were read at the start."""
        return self._static.answer(request.path_params["file"])


def _closed_page(*, used: bool) -> str:
    """Return the page for who has no cookie. It says nothing of the log."""
    words = "This link was used already, or is another inspector's." if used else "This page needs its one-time link."
    more = "Run it again in a terminal, and open the link that it prints:"
    body = (e("h1", "hudkit inspect"), e("p", words), e("p", more), e("p", e("code", "hudkit inspect")))
    return write(card_page("hudkit inspect", STYLE, *body))
