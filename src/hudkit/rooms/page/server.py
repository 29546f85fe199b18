"""Serving the page of a world beside its player: one process, one event loop, a port of this machine only.

Routes: a page whose address says what it shows, actions by form, a stream that says when to look again, and static
files, all behind `web.page_guard`. Without a session there is the login form and its style, and nothing else (abuse
cases F9, F10).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Scope

from hudkit.rooms.page.figures_page import figures_page
from hudkit.rooms.page.form_actions import is_form_action, run_form_action
from hudkit.rooms.page.layout import render_page
from hudkit.rooms.page.login import LoginSession, LoginSessions
from hudkit.rooms.page.page_context import PageContext
from hudkit.rooms.page.served_worlds import ServedWorlds, WorldDirectory
from hudkit.rooms.page.side_pages import SideRequest, hud_diff_page, search_page, worlds_page
from hudkit.rooms.page.url_state import UrlState, parse_query
from hudkit.rooms.world_export import json_lines, transcript_lines
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
from hudkit.web.page_guard import Headers, PageGuard, browser_hosts, loopback_address

_LOGIN_PATH = "/login"
_STYLE = "page.css"
_PUBLIC_PATHS = (f"/static/{BASE_STYLE}", f"/static/{_STYLE}")
"""What the login form is shown with."""

MAX_FORM = 256 * 1024
"""Bytes of a form: the longest message and background fit many times."""
_MAX_FIELDS = 40
_MAX_STREAMS = 32
"""Pages that are told of news at a time."""
_NEWS_SECONDS = 0.3
"""Seconds between two looks for news: as often as a person sees."""

_MAX_VALUE, _MAX_DIGITS = 400, 15
"""Characters of a value in the address of a side page; digits of an event's number."""

_SIDE_PAGES = {"/search": search_page, "/diff": hud_diff_page, "/figures": figures_page, "/worlds": worlds_page}
_EXPORTS = {"text": ("txt", transcript_lines), "jsonl": ("jsonl", json_lines)}

_LIMITS = ListenerLimits(connections=384, keep_alive_seconds=5)
"""What connections may cost: every program of this machine can reach the page."""

_REFUSALS = {
    403: "The request comes from another site.",
    413: "The form is too long.",
    415: "Only forms are taken.",
    421: "The request names another host.",
}
"""What the guard says, as plain text: it is for programs."""
_ERROR_PAGES = ErrorPages(
    "hudkit rooms",
    _STYLE,
    "Back",
    {
        400: "This request cannot be read.",
        403: "This form is not from your page, or from before your last login. Reload the page, and try again.",
        404: "There is no such page.",
        405: "This page is asked in another way.",
        413: "The form is too long.",
        503: "Too many pages are open.",
    },
    store="The world's log refused, and nothing was changed",
    internal="The page met an error of its own; the world goes on. Its terminal says more.",
)
"""What a page says to a person."""


async def serve_page(
    context: PageContext,
    token: str,
    *,
    directory: WorldDirectory | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    end: Awaitable[object] | None = None,
    say: Callable[[str], None] = lambda _: None,
    say_link: Callable[[str], None] = lambda _: None,
) -> None:
    """Play the world, where there is a player, and serve its page until `end` is done or the process is interrupted.

    Other worlds of `directory` can be opened on the page. Once the page can be opened, `say` is called with its
    address, and `say_link` with a link that logs in, once. Raises `ConfigError` where other machines could reach
    `host`, or the port is taken.
    """
    listener = listen_tcp(loopback_address(host), port)
    address = listener.getsockname()
    hosts = browser_hosts(address[0])
    worlds, sessions = ServedWorlds(context, directory), LoginSessions(token)
    app = _application(worlds, sessions, address[1], hosts, lambda: server.should_exit)
    server = make_server(app, _LIMITS, grace_seconds=1)
    serving = asyncio.ensure_future(server.serve([listener]))
    if context.player is not None:
        context.play()
    page = f"http://{hosts[0]}:{address[1]}/"
    say(page)
    say_link(f"{page}?once={sessions.once.token}")
    ends = [serving] if end is None else [serving, asyncio.ensure_future(end)]
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await worlds.stop()
        server.should_exit = True
        await serving


def cookie_name(port: int) -> str:
    """Return the name of the session's cookie: the ports of a host share their cookies, so it has the port in it."""
    return f"hudkit-rooms-{port}"


def _application(
    worlds: ServedWorlds, sessions: LoginSessions, port: int, hosts: tuple[str, ...], is_ending: Callable[[], bool]
) -> ASGIApp:
    """Return the pages of worlds, behind their guard. `port` and `hosts` are what browsers may call this server;
    `is_ending` returns whether it is about to end."""
    routes = _Routes(worlds, sessions, port, NewsStreams(_MAX_STREAMS, "world", 1_000, is_ending))
    inner = Starlette(
        routes=[
            Route("/", routes.page, methods=["GET"]),
            *(Route(path, routes.side_page(render), methods=["GET"]) for path, render in _SIDE_PAGES.items()),
            Route("/export", routes.export, methods=["GET"]),
            Route("/live", routes.live, methods=["GET"]),
            Route("/do/{name}", routes.form_action, methods=["POST"]),
            Route(_LOGIN_PATH, routes.login_form, methods=["GET"]),
            Route(_LOGIN_PATH, routes.login, methods=["POST"]),
            Route("/logout", routes.logout, methods=["POST"]),
            Route("/static/{file:path}", routes.static, methods=["GET"]),
        ],
        exception_handlers=_ERROR_PAGES.handlers(),
    )

    inner.router.redirect_slashes = False

    def check_access(scope: Scope, headers: Headers) -> Response | None:
        """Find the session of a request, for the routes; return the login form for who has none."""
        session = sessions.find(cookie_value(headers, cookie_name(port)))
        scope.setdefault("state", {})["session"] = session
        if scope["path"] == "/" and scope["method"] == "GET" and b"once=" in scope["query_string"]:
            return _with_cookie(session or sessions.redeem(Request(scope).query_params.get("once", "")), port)
        is_public = scope["path"] == _LOGIN_PATH or (scope["path"] in _PUBLIC_PATHS and scope["method"] == "GET")
        return None if session is not None or is_public else html_answer(_login_page(), 401)

    return PageGuard(
        inner,
        port=port,
        hosts=hosts,
        media="application/x-www-form-urlencoded",
        check_access=check_access,
        refuse=lambda status: Response(_REFUSALS[status], status, media_type="text/plain"),
        max_body=MAX_FORM,
        headers=SECURITY_HEADERS,
    )


class _Routes:
    """The endpoints. The guard saw to who asks, and put the session into the request's state."""

    def __init__(self, worlds: ServedWorlds, sessions: LoginSessions, port: int, streams: NewsStreams) -> None:
        self._worlds = worlds
        self._sessions = sessions
        self._port = port
        self._cookie = cookie_name(port)
        self._streams = streams
        self._static = StaticFiles("hudkit.rooms.page")

    async def page(self, request: Request) -> Response:
        """Answer with the page that the address describes."""
        session = _session(request)
        return html_answer(render_page(self._context(session), session, parse_query(request.url.query)))

    def side_page(self, render: Callable[[SideRequest], str]) -> Callable[[Request], Awaitable[Response]]:
        """Return the endpoint of a page beside the main one, such as the search."""

        async def answer(request: Request) -> Response:
            session = _session(request)
            values = {name: value[:_MAX_VALUE] for name, value in request.query_params.items()}
            return html_answer(render(SideRequest(self._context(session), self._worlds, session, values)))

        return answer

    async def export(self, request: Request) -> Response:
        """Answer with the world's log as a file: a transcript, or JSON lines; up to event `at` where it is given."""
        context = self._context(_session(request))
        kind = request.query_params.get("format", "text")
        if kind not in _EXPORTS:
            raise HTTPException(404)
        suffix, lines = _EXPORTS[kind]
        upto = request.query_params.get("at", "")
        if upto and not (upto.isdecimal() and len(upto) <= _MAX_DIGITS):
            raise HTTPException(400)
        log = context.world_log
        events = log.events(upto=log.check_seq(int(upto)) if upto else log.world.seq)
        name = re.sub(r"[^\w-]+", "-", context.world_log.world.name, flags=re.ASCII).strip("-") or "world"
        return StreamingResponse(
            (f"{line}\n" for line in lines(events)),
            media_type="text/plain" if suffix == "txt" else "application/jsonl",
            headers={"content-disposition": f'attachment; filename="{name}.{suffix}"'},
        )

    async def live(self, request: Request) -> Response:
        """Answer with the stream of a page: a line whenever the world went on behind event `seq`."""
        session = _session(request)
        log = self._context(session).world_log

        async def progress() -> int:
            log.refresh()
            return log.world.seq

        return self._streams.answer(
            request, progress, pause=_NEWS_SECONDS, may_go_on=lambda: self._sessions.is_open(session)
        )

    async def form_action(self, request: Request) -> Response:
        """Do what a form asks for, and lead to the page that shows it."""
        name, session = request.path_params["name"], _session(request)
        fields = await _form_fields(request)
        if not session.owns_form(fields.pop("csrf", "")):
            raise HTTPException(403)
        if not is_form_action(name):
            raise HTTPException(404)
        url = parse_query(fields.pop("look", ""))
        next_url = await run_form_action(self._worlds, session, name, fields, url)
        return RedirectResponse(next_url.href(), 303)

    def _context(self, session: LoginSession) -> PageContext:
        return self._worlds.context(session.world)

    async def login_form(self, request: Request) -> Response:
        """Answer with the login form."""
        return RedirectResponse("/", 303) if request.state.session else html_answer(_login_page())

    async def login(self, request: Request) -> Response:
        """Log a browser in, where it has the token."""
        previous: LoginSession | None = request.state.session
        token = (await _form_fields(request)).get("token", "")
        session = self._sessions.login(token, previous.id if previous else "")
        if session is None:
            return html_answer(_login_page("That is not the token."), 401)
        return _with_cookie(session, self._port)

    async def logout(self, request: Request) -> Response:
        """End a session."""
        session = _session(request)
        if not session.owns_form((await _form_fields(request)).get("csrf", "")):
            raise HTTPException(403)
        self._sessions.logout(session)
        answer = RedirectResponse(_LOGIN_PATH, 303)
        answer.delete_cookie(self._cookie, httponly=True, samesite="strict", path="/")
        return answer

    async def static(self, request: Request) -> Response:
        """Answer with a file: one of those that were read at the start, whatever the path says."""
        return self._static.answer(request.path_params["file"])


def _session(request: Request) -> LoginSession:
    session = request.state.session
    assert isinstance(session, LoginSession)
    return session


async def _form_fields(request: Request) -> dict[str, str]:
    """Return the fields of a form, of equal ones the last. The guard saw to its length."""
    try:
        text = (await request.body()).decode("ascii")
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="strict"))
    except ValueError:
        raise HTTPException(400) from None


def _with_cookie(session: LoginSession | None, port: int) -> Response:
    """Return the way from a one-time link to the page; the login form where the link is used up."""
    if session is None:
        return html_answer(_login_page("This link was used already, or is another server's."), 401)
    answer = RedirectResponse(UrlState().href(), 303)
    answer.set_cookie(cookie_name(port), session.id, httponly=True, samesite="strict", path="/")
    return answer


def _login_page(fault: str = "") -> str:
    """Return the HTML that asks for the token. It says nothing about the world."""
    return write(
        card_page(
            "Log in",
            _STYLE,
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
                action=_LOGIN_PATH,
            ),
        )
    )
