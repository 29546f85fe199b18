"""What is around every page of the inspector: head, bar, keys; and the small parts that several pages have."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from hudkit import __version__
from hudkit.compose import Band, visible
from hudkit.compose.formats.html.hast import HtmlElement
from hudkit.hud.window_usage import PartBudget
from hudkit.inspector.charts import share_bar
from hudkit.inspector.links import page_link
from hudkit.sections.document_builder import short_token_count
from hudkit.tokens.model_facts import UNCERTAIN_WINDOWS, Source
from hudkit.web.elements import Child, classes, e, write
from hudkit.web.page_answers import BASE_STYLE

STYLE = "inspector.css"
"""The file of the pages' own style."""

_KEYS = (
    ("[ ]", "previous and next call"),
    ("J K", "the session below and above"),
    ("/", "search"),
    ("u", "one page up: from a call to its session, from there to the list"),
    ("l", "the newest call, and follow the agent"),
    ("?", "these keys"),
)

BAND_SIGNS = {Band.GREEN: "○", Band.YELLOW: "◔", Band.RED: "◑", Band.CRITICAL: "●", Band.UNKNOWN: "–"}
"""A sign for each band, so that nobody needs its colour."""


def render_page(
    title: str,
    crumbs: Sequence[tuple[str, str]],
    *body: Child,
    live: str = "",
    query: str = "",
    session: str = "",
) -> str:
    """Return the HTML of a page. `crumbs` are (words, address) of the pages above it; `live` is the address of the
    stream that says when it changed; `query` stands in the search field, which searches `session` where one is given.
    """
    return write(
        e(
            "html",
            e(
                "head",
                e("meta", charset="utf-8"),
                e("title", f"{title} · hudkit"),
                e("meta", name="viewport", content="width=device-width, initial-scale=1"),
                e("meta", name="color-scheme", content="light dark"),
                e("link", rel="icon", href="/static/icon.svg"),
                e("link", rel="stylesheet", href=f"/static/{BASE_STYLE}"),
                e("link", rel="stylesheet", href=f"/static/{STYLE}"),
                e("script", src="/static/inspector.js", defer=True),
            ),
            e(
                "body",
                e("a", "To the content", href="#main", class_="skip"),
                _bar(crumbs, query, session),
                e("main", body, id="main", data_live=live or None, tabindex=-1),
                e("p", class_="news", id="news", role="status", hidden=True),
                _keys(),
                e(
                    "footer",
                    e("span", f"hudkit {__version__}"),
                    e("span", "These pages read the log. Nothing here changes it."),
                    class_="foot",
                ),
            ),
            lang="en",
        )
    )


def _bar(crumbs: Sequence[tuple[str, str]], query: str, session: str) -> HtmlElement:
    return e(
        "header",
        e("a", e("b", "hudkit"), href="/", class_="brand", aria_label="hudkit, all sessions"),
        e(
            "nav",
            [e("a", words, href=address, title=words) for words, address in crumbs],
            aria_label="Where this page is",
            class_="crumbs",
        ),
        e(
            "form",
            e("input", type="hidden", name="id", value=session) if session else None,
            e(
                "input",
                type="search",
                name="q",
                id="search",
                value=query or None,
                placeholder="Search",
                aria_label="Search this session" if session else "Search all sessions",
                maxlength=200,
            ),
            action="/search",
            method="get",
            role="search",
        ),
        e("a", "?", href="#keys", class_="button quiet", id="help", title="Keys", aria_label="Keys"),
        class_="bar",
    )


def _keys() -> HtmlElement:
    rows = [(e("dt", [e("kbd", key) for key in keys.split()]), e("dd", words)) for keys, words in _KEYS]
    close = e("a", "Close", href="#main", class_="button quiet", id="close")
    return e("aside", e("h2", "Keys"), e("dl", rows), close, class_="keys", id="keys", aria_label="Keys")


# -- parts of pages ----------------------------------------------------------------------------------------------


def band_label(band: Band) -> HtmlElement:
    """Return a band of the window as its sign and its name."""
    return e("span", e("span", BAND_SIGNS[band], aria_hidden="true"), f" {band.value}", class_=f"band {band.value}")


def window_use(used: int | None, limit: int, source: Source, band: Band) -> HtmlElement:
    """Return how full the window is: a bar, the per cent and the band. A size that nobody said is marked."""
    if used is None:
        return e("span", "not reported", class_="soft")
    bar = share_bar([("in use", f"band-{band.value}", min(used, limit))], limit)
    doubt = source if source in UNCERTAIN_WINDOWS else ""
    return e(
        "span",
        bar,
        e("span", f"{100 * used / limit:.0f} %", class_="number"),
        e("span", f"of {short_token_count(limit)} {doubt}", class_="soft") if doubt else None,
        band_label(band),
        class_="use",
        title=f"{used:,} of {limit:,} tokens{doubt and f' ({doubt})'}",
    )


def window_budget(rows: Sequence[PartBudget]) -> Child:
    """Return what each part of the window has of what it may have, in a session without summaries; else nothing."""
    if not rows:
        return None
    lines = []
    for row in rows:
        style = "band-green" if row.tokens <= row.ceiling else "band-critical"
        bar = share_bar([(row.part, style, min(row.tokens, row.ceiling))], row.ceiling)
        tokens = f"{'' if row.exact else '~ '}{row.tokens:,} of {row.ceiling:,}"
        name = e("th", row.part, scope="row")
        lines.append(e("tr", name, e("td", bar, class_="fill"), e("td", tokens, class_="number")))
    note = "Without summaries: tokens that each part has, and what it may have"
    return section(
        "Budget of the window", e("table", e("tbody", lines), class_="bars"), id="window-budget", note=note
    )


def facts(rows: Iterable[tuple[str, Child]]) -> HtmlElement:
    """Return short facts with their names; those without a value are left out."""
    return e("dl", [e("div", e("dt", name), e("dd", value)) for name, value in rows if value], class_="facts")


def reading_notice(read: int, last: int) -> HtmlElement:
    """Return what a page says while the log of a very long session is read for the first time."""
    words = f"Reading the log: event {read:,} of {last:,}. The page goes on by itself."
    return e("p", words, class_="notice", role="status")


def waiting_page(title: str, crumbs: Sequence[tuple[str, str]], read: int, last: int) -> str:
    """Return a page that is not made yet, because its events are still being read."""
    return render_page(title, crumbs, e("h1", title), reading_notice(read, last))


def section(title: str, *body: Child, id: str = "", note: Child = None) -> HtmlElement:
    """Return a part of a page under a heading, with a note beside it."""
    head = e("header", e("h2", title), e("p", note, class_="soft") if note else None)
    return e("section", head, body, id=id or None)


def memory_command(words: str, recording: str) -> HtmlElement:
    """Return a command that reads messages: those of the host, or of the recording that the log is a replay of."""
    return command(f"hudkit memory {words}" + (f" --opencode {shlex.quote(visible(recording))}" if recording else ""))


def command(text: str) -> HtmlElement:
    """Return a command to be copied, with a button where there is a script."""
    return e(
        "span",
        e("code", text),
        e("button", "Copy", type="button", class_="button copy script", data_copy=text),
        class_="command",
    )


def step_links(
    before: tuple[str, str], after: tuple[str, str], ids: tuple[str, str], *, signs: tuple[str, str] = ("‹", "›")
) -> HtmlElement:
    """Return two links, back and on: (words, address) each; one without an address is there without leading on."""
    links = []
    for (words, address), id, sign in zip((before, after), ids, signs, strict=True):
        if address:
            links.append(e("a", sign, href=address, class_="button", id=id, title=words, aria_label=words))
        else:
            links.append(e("span", sign, class_="button off", aria_hidden="true"))
    return e("span", links, class_="steps")


def pager(path: str, number: int, pages: int, **values: object) -> Child:
    """Return links to the pages before and after one, where there are several."""
    if pages < 2:
        return None
    before = page_link(path, **values, page=number - 1) if number > 1 else ""
    after = page_link(path, **values, page=number + 1) if number < pages else ""
    words = e("span", f"page {number:,} of {pages:,}", class_="soft")
    steps = step_links(("Page before", before), ("Page after", after), ("page-before", "page-after"))
    return e("nav", steps, words, class_="pager", aria_label="Pages")


def tabs(label: str, options: Iterable[tuple[str, str, bool]]) -> HtmlElement:
    """Return links of which one is taken: (words, address, whether it is the one)."""
    links = [e("a", words, href=address, aria_current="true" if taken else None) for words, address, taken in options]
    return e("nav", links, class_=classes("switch"), aria_label=label)
