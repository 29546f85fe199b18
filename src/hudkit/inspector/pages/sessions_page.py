"""The first page: the sessions of all hosts, the one that went on last first."""

from __future__ import annotations

from hudkit.compose.formats.html.hast import HtmlElement
from hudkit.inspector.links import page_link, session_link
from hudkit.inspector.pages.page_shell import pager, render_page, window_use
from hudkit.inspector.session_list import SessionPage, SessionSummary
from hudkit.web.elements import Child, e
from hudkit.web.page_text import count_of, day_and_time, excerpt


def sessions_page(page: SessionPage, query: str, host: str, live: str) -> str:
    """Return the page with a page of the list; `query` and `host` are what was asked for."""
    return render_page(
        "Sessions",
        (),
        e("h1", "Sessions"),
        _filter(page, query, host),
        e("p", _count(page, query or host), class_="soft count"),
        _table(page) if page.rows else _nothing(bool(query or host)),
        pager("/", page.number, page.pages, q=query, host=host),
        live=live,
    )


def _filter(page: SessionPage, query: str, host: str) -> HtmlElement:
    options = [e("option", "all hosts", value="")]
    options += [e("option", name, value=name, selected=name == host) for name in page.hosts]
    return e(
        "form",
        e(
            "input",
            type="search",
            name="q",
            id="filter",
            value=query or None,
            placeholder="Title, project, model or id",
            aria_label="Filter the sessions",
            maxlength=200,
        ),
        e("select", options, name="host", aria_label="Host"),
        e("button", "Filter", type="submit", class_="button"),
        e("a", "All", href="/", class_="button quiet") if query or host else None,
        action="/",
        method="get",
        class_="filter",
    )


def _count(page: SessionPage, filtered: str) -> str:
    words = count_of(page.total, "session")
    if not filtered:
        return words
    if page.read < page.sessions:
        return f"{words} found in {page.read:,} of {page.sessions:,} that were read so far"
    return f"{words} of {page.sessions:,}"


def _table(page: SessionPage) -> HtmlElement:
    names = ("Session", "Last active", "Calls", "Compactions", "Window in use")
    head = e("tr", [e("th", name, scope="col") for name in names])
    return e("table", e("thead", head), e("tbody", map(_row, page.rows)), class_="list", id="sessions")


def _row(row: SessionSummary) -> HtmlElement:
    about: list[Child] = [e("span", row.host, class_="host") if row.host else None]
    about += [e("span", row.project, title=row.directory) if row.project else None]
    about += [e("span", row.model) if row.model else None, e("code", _short_id(row.host_session))]
    return e(
        "tr",
        e(
            "th",
            e("a", excerpt(row.title, 90), href=session_link(row.key), class_="title"),
            e("span", about, class_="about"),
            scope="row",
        ),
        e("td", day_and_time(row.last), data_name="Last active"),
        e("td", f"{row.calls:,}", class_="number", data_name="Calls"),
        e("td", f"{row.compactions:,}" if row.compactions else "–", class_="number", data_name="Compactions"),
        e("td", window_use(row.used, row.limit, row.source, row.band), data_name="Window in use"),
    )


def _nothing(filtered: bool) -> HtmlElement:
    if filtered:
        return e("p", "No session matches. ", e("a", "Show all", href=page_link("/")), class_="empty")
    return e("p", "The log has no sessions yet: they begin with the first call of an agent.", class_="empty")


def _short_id(id: str) -> str:
    return id if len(id) <= 16 else f"{id[:8]}…{id[-6:]}"
