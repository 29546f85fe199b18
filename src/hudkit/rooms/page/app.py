"""The page's routes: a page whose address says what it shows, deeds by form, and a stream that says when to look."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from hudkit.errors import ConfigError, StoreError
from hudkit.rooms.page import live
from hudkit.rooms.page.deeds import DEEDS, carry_out
from hudkit.rooms.page.desk import Desk
from hudkit.rooms.page.guard import LOGIN, Guard, cookie_of
from hudkit.rooms.page.look import Look, read
from hudkit.rooms.page.sessions import Session, Sessions, genuine
from hudkit.rooms.page.views.login import login_page, plain_page
from hudkit.rooms.page.views.shell import whole_page

_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_SEVERAL = 40  # fields of a form


def application(
    desk: Desk, token: str, port: int, hosts: tuple[str, ...], ended: Callable[[], bool] = lambda: False
) -> ASGIApp:
    """The page of a world, behind its guard. `token` is what a person logs in with; `port` and `hosts` are what
    browsers may call this server; `ended` says whether it is about to end."""
    sessions = Sessions(token)
    routes = _Routes(desk, sessions, port, live.Live(desk, ended))
    inner = Starlette(
        routes=[
            Route("/", routes.page, methods=["GET"]),
            Route("/live", routes.live, methods=["GET"]),
            Route("/do/{name}", routes.deed, methods=["POST"]),
            Route(LOGIN, routes.login_form, methods=["GET"]),
            Route(LOGIN, routes.login, methods=["POST"]),
            Route("/logout", routes.logout, methods=["POST"]),
            Route("/static/{file:path}", routes.static, methods=["GET"]),
        ],
        exception_handlers={HTTPException: _missing, ConfigError: _wrong_address, StoreError: _store, 500: _failed},
    )
    return Guard(inner, sessions, port, hosts)


class _Routes:
    def __init__(self, desk: Desk, sessions: Sessions, port: int, told: live.Live) -> None:
        self._desk = desk
        self._sessions = sessions
        self._cookie = cookie_of(port)
        self._live = told
        root = files("hudkit.rooms.page") / "static"
        self._static = {
            f"{folder}{file.name}": file.read_bytes()
            for folder, place in (("", root), ("vendor/", root / "vendor"))
            for file in place.iterdir()
            if file.is_file()
        }

    async def page(self, request: Request) -> Response:
        look = read(request.url.query)
        return _html(whole_page(self._desk, _session(request), look))

    async def live(self, request: Request) -> Response:
        seq = request.query_params.get("seq", "0")
        if not seq.isdecimal() or len(seq) > 18:
            raise HTTPException(400)
        if self._live.listening >= live.MOST:
            raise HTTPException(503)
        session = _session(request)
        stream = self._live.events(int(seq), lambda: self._sessions.holds(session))
        return StreamingResponse(stream, media_type="text/event-stream")

    async def deed(self, request: Request) -> Response:
        name, session = request.path_params["name"], _session(request)
        form = await _form(request)
        if not genuine(session, form.pop("csrf", "")):
            raise HTTPException(403)
        if name not in DEEDS:
            raise HTTPException(404)
        look = read(form.pop("look", ""))
        after = await carry_out(self._desk, session, name, form, look)
        return RedirectResponse(after.url(), 303)

    async def login_form(self, request: Request) -> Response:
        return RedirectResponse("/", 303) if request.state.session else _html(login_page())

    async def login(self, request: Request) -> Response:
        before: Session | None = request.state.session
        session = self._sessions.login((await _form(request)).get("token", ""), before.id if before else "")
        if session is None:
            return _html(login_page("That is not the token."), 401)
        answer = RedirectResponse(Look().url(), 303)
        answer.set_cookie(self._cookie, session.id, httponly=True, samesite="strict", path="/")
        return answer

    async def logout(self, request: Request) -> Response:
        session = _session(request)
        if not genuine(session, (await _form(request)).get("csrf", "")):
            raise HTTPException(403)
        self._sessions.logout(session)
        answer = RedirectResponse(LOGIN, 303)
        answer.delete_cookie(self._cookie, httponly=True, samesite="strict", path="/")
        return answer

    async def static(self, request: Request) -> Response:
        name: str = request.path_params["file"]
        body = self._static.get(name)
        if body is None:
            raise HTTPException(404)
        kind = _TYPES.get(f".{name.rpartition('.')[2]}", "text/plain")
        return Response(body, media_type=kind, headers={"cache-control": "private, max-age=300"})


def _session(request: Request) -> Session:
    session = request.state.session
    assert isinstance(session, Session)
    return session


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form, of equal ones the last. The guard saw to its length."""
    try:
        text = (await request.body()).decode("ascii")
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=_SEVERAL, errors="strict"))
    except ValueError:
        raise HTTPException(400) from None


def _html(text: str, status: int = 200) -> Response:
    return Response(text, status, media_type="text/html")


_SAID = {
    400: "This request cannot be read.",
    403: "This form is not from your page, or from before your last login. Reload the page, and try again.",
    404: "There is no such page.",
    405: "This page is asked in another way.",
    413: "The form is too long.",
    503: "Too many pages are open.",
}


async def _missing(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _html(plain_page(_SAID.get(status, "This request cannot be answered.")), status)


async def _wrong_address(_: Request, error: Exception) -> Response:
    return _html(plain_page(str(error)), 404)


async def _store(_: Request, error: Exception) -> Response:
    return _html(plain_page(f"The world's log refused, and nothing was changed: {error}"), 503)


async def _failed(_: Request, _error: Exception) -> Response:
    return _html(plain_page("The page met an error of its own; the world goes on. Its terminal says more."), 500)
