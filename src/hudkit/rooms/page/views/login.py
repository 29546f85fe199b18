"""The pages of who is not logged in, and those that only say something."""

from __future__ import annotations

from hudkit.compose.formats.html.hast import Element
from hudkit.web.elements import Child, e, write


def login_page(fault: str = "") -> str:
    """Asks for the token. It says nothing about the world."""
    return write(
        _bare(
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
                action="/login",
            ),
        )
    )


def plain_page(text: str) -> str:
    """Says one thing, and leads back."""
    return write(_bare("hudkit rooms", e("h1", "hudkit rooms"), e("p", text), e("p", e("a", "Back", href="/"))))


def _bare(title: str, *children: Child) -> Element:
    return e(
        "html",
        e(
            "head",
            e("meta", charset="utf-8"),
            e("title", title),
            e("meta", name="viewport", content="width=device-width, initial-scale=1"),
            e("link", rel="stylesheet", href="/static/page.css"),
        ),
        e("body", e("main", children, class_="card"), class_="alone"),
        lang="en",
    )
