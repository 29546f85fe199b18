"""What a search found: sessions by their facts, messages of all hosts, events of the session that is looked at."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

from hudkit.compose import visible
from hudkit.compose.formats.html.hast import HtmlElement
from hudkit.inspector.event_search import SEARCHED_EVENTS, EventHit, MessageHits, highlighted
from hudkit.inspector.links import call_link, page_link, session_link
from hudkit.inspector.pages.page_shell import command, memory_command, render_page, section
from hudkit.inspector.session_list import SessionPage, SessionSummary
from hudkit.transcripts.search.query import SearchHit
from hudkit.web.elements import Child, classes, e
from hudkit.web.page_text import count_of, day_and_time, excerpt

_EVENT_CHARACTERS = 400


def search_page(
    query: str,
    sessions: SessionPage | None,
    messages: MessageHits,
    key_of: Callable[[SearchHit], str],
    session: SessionSummary | None,
    events: Sequence[EventHit],
    recording: str = "",
) -> str:
    """Return the page with what was found. `key_of` gives the key of a hit's session, empty where the log has none;
    `session` and `events` are of the session that is searched, `sessions` of the list where none is; `recording` is
    the file that the log is only a replay of."""
    crumbs = [("Sessions", "/")]
    if session is not None:
        crumbs.append((excerpt(session.title, 40), session_link(session.key)))
    words = query.lower().split()
    body: list[Child] = [e("h1", f"Search: {excerpt(query, 80)}" if query else "Search")]
    parts: list[Child] = [_messages(messages, key_of, words, recording)]
    if session is not None:
        everywhere = page_link("/search", q=query)
        body.append(e("p", "In this session. ", e("a", "Search all sessions", href=everywhere), class_="soft"))
        parts.append(_events(session, events, words))
    if sessions is not None:
        body.append(_sessions(sessions, query))
    body.append(e("div", parts, class_=classes(len(parts) > 1 and "frames")))
    return render_page("Search", crumbs, body, query=query, session=session.key if session is not None else "")


def _events(session: SessionSummary, events: Sequence[EventHit], words: Sequence[str]) -> HtmlElement:
    rows = [
        e(
            "li",
            e(
                "p",
                e("a", f"event {hit.event.seq:,}", href=call_link(session.key, hit.event.seq)),
                e("code", hit.event.type),
                day_and_time(hit.event.timestamp),
                class_="about",
            ),
            e("p", _marked(excerpt(hit.text, _EVENT_CHARACTERS), words)),
        )
        for hit in events
    ]
    body: Child = e("ul", rows, class_="hits") if rows else e("p", "No event has these words.", class_="soft")
    note = "A link leads to the frame at that event" if rows else ""
    if session.seq > SEARCHED_EVENTS:
        note = f"{note}; searched: the last {SEARCHED_EVENTS:,} events".lstrip("; ")
    return section(f"Events ({len(rows)})", body, note=note, id="events")


def _sessions(sessions: SessionPage, query: str) -> Child:
    if not sessions.rows or not query:
        return None
    rows = [
        e(
            "li",
            e("a", excerpt(row.title, 100), href=session_link(row.key)),
            " ",
            e("span", row.project, class_="soft"),
        )
        for row in sessions.rows[:10]
    ]
    more = e("a", f"All {sessions.total:,}", href=page_link("/", q=query)) if sessions.total > len(rows) else None
    return section(count_of(sessions.total, "session").capitalize(), e("ul", rows, class_="hits"), more)


def _messages(
    messages: MessageHits, key_of: Callable[[SearchHit], str], words: Sequence[str], recording: str
) -> HtmlElement:
    if messages.problem:
        update = e("p", "The index is made and brought up to date by: ", command("hudkit memory index"))
        return section("Messages", e("p", messages.problem, class_="soft"), update, id="messages")
    rows = [_message(hit, key_of(hit), words, recording) for hit in messages.hits]
    body: Child = e("ul", rows, class_="hits") if rows else e("p", "No message answers.", class_="soft")
    return section(f"Messages ({len(rows)})", body, note="From the search index, best first", id="messages")


def _message(hit: SearchHit, key: str, words: Sequence[str], recording: str) -> HtmlElement:
    title = excerpt(hit.title or hit.session, 80)
    about: list[Child] = [
        e("a", title, href=session_link(key)) if key else e("b", title),
        e("span", hit.host),
        e("span", f"{hit.role} {hit.tool}".strip()),
        day_and_time(hit.time),
    ]
    text = _marked(excerpt(hit.snippet, _EVENT_CHARACTERS), words)
    quoted_session, quoted_id = (shlex.quote(visible(id)) for id in (hit.session, hit.message))
    return e(
        "li",
        e("p", about, class_="about"),
        e("p", text),
        memory_command(f"message {quoted_session} {quoted_id}", recording),
    )


def _marked(text: str, words: Sequence[str]) -> list[Child]:
    before, match, after = highlighted(text, words)
    return [before, e("mark", match) if match else None, after]
