"""Answers of pages: HTML under a strict policy, errors, files that were read at the start, the value of a cookie."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from hudkit.compose.formats.html.hast import HtmlElement
from hudkit.errors import ConfigError, StoreError
from hudkit.web.elements import Child, e, write
from hudkit.web.page_guard import Headers

_POLICY = "; ".join(
    (
        "default-src 'self'",
        "img-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
SECURITY_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with `no-referrer` a browser says `Origin: null` of our own forms
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""On every answer of a page."""

BASE_STYLE = "base.css"
"""The file with the colours, type and controls of all pages."""

_MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class StaticFiles:
    """Files that pages load, read at the start: those of all pages, and those of `folder`, by their paths."""

    def __init__(self, package: str) -> None:
        """Read the folder `static` of a package, and the one of this package."""
        self._bodies: dict[str, bytes] = {}
        for root in (files("hudkit.web") / "static", files(package) / "static"):
            self._bodies |= dict(_files_below(root))

    def answer(self, name: str) -> Response:
        """Return a file, whatever the path says one of those that were read. Raises `HTTPException` 404."""
        body = self._bodies.get(name)
        if body is None:
            raise HTTPException(404)
        media_type = _MEDIA_TYPES.get(f".{name.rpartition('.')[2]}", "text/plain")
        return Response(body, media_type=media_type, headers={"cache-control": "private, max-age=300"})


def _files_below(folder: Traversable, prefix: str = "") -> Iterable[tuple[str, bytes]]:
    for file in folder.iterdir():
        if file.is_file():
            yield prefix + file.name, file.read_bytes()
        else:
            yield from _files_below(file, f"{prefix}{file.name}/")


def html_answer(text: str, status: int = 200) -> Response:
    """Return a page as an answer."""
    return Response(text, status, media_type="text/html")


def card_page(title: str, style: str, *children: Child) -> HtmlElement:
    """Return a page of one card, such as a login form; `style` is the file in `/static` with the page's own style."""
    return e(
        "html",
        e(
            "head",
            e("meta", charset="utf-8"),
            e("title", title),
            e("meta", name="viewport", content="width=device-width, initial-scale=1"),
            e("link", rel="stylesheet", href=f"/static/{BASE_STYLE}"),
            e("link", rel="stylesheet", href=f"/static/{style}"),
        ),
        e("body", e("main", children, class_="card"), class_="alone"),
        lang="en",
    )


class ErrorPages(msgspec.Struct, frozen=True):
    """The pages that say what went wrong: under the program's name and style, with a link that leads back.

    `statuses` has what is said for each status; `store` what comes before the reason where the log refused;
    `internal` what is said of an error of our own.
    """

    program: str
    style: str
    back: str
    statuses: Mapping[int, str]
    store: str
    internal: str

    def handlers(self) -> dict[Any, Callable[[Request, Exception], Awaitable[Response]]]:
        """Return Starlette's handlers of exceptions: an address that names nothing is answered with 404, a log that
        cannot be used with 503."""

        async def http_error(_: Request, error: Exception) -> Response:
            status = error.status_code if isinstance(error, HTTPException) else 500
            return self._answer(self.statuses.get(status, "This request cannot be answered."), status)

        async def wrong_address(_: Request, error: Exception) -> Response:
            return self._answer(str(error), 404)

        async def store_error(_: Request, error: Exception) -> Response:
            return self._answer(f"{self.store}: {error}", 503)

        async def internal_error(_: Request, _error: Exception) -> Response:
            return self._answer(self.internal, 500)

        return {
            HTTPException: http_error,
            ConfigError: wrong_address,
            StoreError: store_error,
            500: internal_error,
        }

    def _answer(self, text: str, status: int) -> Response:
        back = e("p", e("a", self.back, href="/"))
        page = card_page(self.program, self.style, e("h1", self.program), e("p", text), back)
        return html_answer(write(page), status)


def cookie_value(headers: Headers, name: str) -> str:
    """Return the value of a cookie of a request, empty where it has none."""
    text = headers.get(b"cookie", [b""])[0][:4096].decode("latin-1")
    try:
        morsel = SimpleCookie(text).get(name)
    except CookieError:
        return ""
    return morsel.value if morsel is not None else ""
