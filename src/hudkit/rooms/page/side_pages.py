"""The pages beside the main one: what was said and done, searched; two HUDs compared; and the user's other worlds.

They are read from the top to the bottom, work without scripts, and each leads back to the world.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal
from urllib.parse import urlencode

import msgspec

from hudkit.compose import shorten
from hudkit.compose.formats.html.hast import HtmlElement
from hudkit.errors import ConfigError
from hudkit.rooms import world_events as ev
from hudkit.rooms.hud import INSTRUCTIONS, as_markdown
from hudkit.rooms.page.event_words import describe_event
from hudkit.rooms.page.login import LoginSession
from hudkit.rooms.page.metrics import BeatRecord
from hudkit.rooms.page.page_context import PageContext
from hudkit.rooms.page.served_worlds import ServedWorlds, WorldFileEntry
from hudkit.rooms.page.url_state import UrlState
from hudkit.rooms.page.widgets import PageData, button, choice, field, form, hidden, plain_text
from hudkit.rooms.world import AgentState
from hudkit.web.elements import Child, classes, e, write
from hudkit.web.page_answers import BASE_STYLE
from hudkit.web.page_text import clock, count_of, day_and_time, excerpt
from hudkit.web.text_changes import TextChange, compare_lines, compare_words

_MAX_DIGITS = 15
_MAX_HITS = 60
"""Hits that are shown."""
_SEARCHED_EVENTS = 50_000
"""Events that are searched, the newest: of all of a very long log, a person would have to wait."""
_SIGNS = {"same": "", "cut": "−", "add": "+", "skip": "⋯"}


class SideRequest(msgspec.Struct, frozen=True):
    """What a side page is made from: the world, all worlds, who looks, and what the address says."""

    context: PageContext
    worlds: ServedWorlds
    session: LoginSession
    values: Mapping[str, str]

    def page_data(self) -> PageData:
        """Return the world as it is now, as the parts of the main page get it."""
        self.context.world_log.refresh()
        self.context.metrics.follow()
        log = self.context.world_log
        return PageData(self.context, self.session, UrlState(), log.world, self.context.metrics, self.context.now())

    def number(self, name: str) -> int:
        """Return the whole number of the address; 0 where it has none. Raises `ConfigError` for what is no number."""
        text = self.values.get(name, "")
        if text and (not text.isdecimal() or len(text) > _MAX_DIGITS):
            raise ConfigError(f"{name} is {shorten(text, 40)!r}", hint="It is a whole number")
        return int(text or 0)


def side_link(path: str, **values: object) -> str:
    """Return the address of a side page; values that are empty are left out."""
    pairs = {name: str(value) for name, value in values.items() if value not in ("", 0, None)}
    return f"{path}?{urlencode(pairs)}" if pairs else path


def render_side_page(page: PageData, title: str, *body: Child, query: str = "") -> str:
    """Return the HTML of a side page: a bar that leads back, the heading, and what it shows."""
    links = (("/", page.world.name), ("/figures", "Figures"), ("/worlds", "Worlds"))
    bar = e(
        "header",
        e("nav", [e("a", text, href=path) for path, text in links], class_="crumbs", aria_label="Pages"),
        search_form(query),
        class_="above",
    )
    static = "/static/"
    return write(
        e(
            "html",
            e(
                "head",
                e("meta", charset="utf-8"),
                e("title", f"{title} · {shorten(page.world.name, 60)} · rooms"),
                e("meta", name="viewport", content="width=device-width, initial-scale=1"),
                e("meta", name="color-scheme", content="light dark"),
                e("link", rel="icon", href=f"{static}icon.svg"),
                e("link", rel="stylesheet", href=f"{static}{BASE_STYLE}"),
                e("link", rel="stylesheet", href=f"{static}page.css"),
            ),
            e(
                "body",
                e("a", "To the content", href="#main", class_="skip"),
                bar,
                e("main", e("h1", title), body, id="main", class_="beside"),
            ),
            lang="en",
        )
    )


def search_form(query: str = "") -> HtmlElement:
    """Return the field that searches what was said and done."""
    return e(
        "form",
        e(
            "input",
            type="search",
            name="q",
            id="search",
            value=query or None,
            placeholder="Search",
            aria_label="Search what was said and done",
            maxlength=200,
        ),
        action="/search",
        method="get",
        role="search",
        class_="search",
        hx_boost="false",
    )


# -- search --------------------------------------------------------------------------------------------------------

_KINDS = (
    ("", "everything"),
    ("said", "messages"),
    ("noted", "what was written into memory"),
    ("did", "actions, also refused ones"),
    ("answers", "answers word for word, and errors"),
    ("world", "rooms, agents, the world"),
)


class _Hit(msgspec.Struct, frozen=True):
    seq: int
    happened_at: int
    who: int
    where: int
    text: str
    message: int = 0


def search_page(request: SideRequest) -> str:
    """Return what was said and done that has all words of `q`: of one `kind`, `by` one agent, in one `room`."""
    page = request.page_data()
    query = " ".join(request.values.get("q", "").split())
    kind = request.values.get("kind", "")
    by, room = request.values.get("by", ""), request.number("room")
    speaker = request.number("by") if by else None
    hits: list[_Hit] = []
    for hit in _hits(page, kind):
        matches = all(word in hit.text.casefold() for word in query.casefold().split())
        if matches and speaker in (None, hit.who) and room in (0, hit.where):
            hits.append(hit)
            if len(hits) > _MAX_HITS:
                break
    more = len(hits) > _MAX_HITS
    hits = hits[:_MAX_HITS]
    counted = f"The newest {_MAX_HITS}; there are more." if more else f"{count_of(len(hits), 'hit')}, newest first."
    words = query.casefold().split()
    return render_side_page(
        page,
        f"Search: {query}" if query else "Search",
        _filters(page, query, kind, by, room),
        e("p", counted, class_="hint", role="status"),
        e("ol", [_hit_row(page, hit, words) for hit in hits], class_="hits") if hits else None,
        query=query,
    )


def _filters(page: PageData, query: str, kind: str, by: str, room: int) -> HtmlElement:
    agents = [(str(agent.id), agent.name) for agent in page.world.agents.values()]
    return e(
        "form",
        e("input", type="hidden", name="q", value=query or None),
        field("What", choice("kind", _KINDS, kind)),
        field("By", choice("by", [("", "anybody"), ("0", "The Architect"), *agents], by)),
        field("Room", choice("room", [("", "any"), *((id, f"{name}’s") for id, name in agents)], str(room or ""))),
        button("Filter"),
        action="/search",
        method="get",
        class_="filters",
    )


def _hits(page: PageData, kind: str) -> Iterator[_Hit]:
    """Yield what happened, the newest first, as far as it is of a kind and has words."""
    last = page.world.seq
    events = list(page.context.world_log.events(max(0, last - _SEARCHED_EVENTS), last))
    for entry, event in reversed(events):
        hit = _hit_of(page, entry.seq, entry.timestamp, event, kind)
        if hit is not None:
            yield hit


def _hit_of(page: PageData, seq: int, time: int, event: ev.WorldEvent, kind: str) -> _Hit | None:
    match event:
        case ev.MessagePosted(kind="text"):
            hit = _Hit(seq, time, event.sender, event.room, event.content, event.id)
            return hit if kind in ("", "said") else None
        case ev.MessagePosted() | ev.BeatBegun() | ev.BeatFinished():
            return None
        case ev.KnowledgeSet(value=value) | ev.KnowledgeAppended(value=value):
            hit = _Hit(seq, time, event.agent, 0, f"{describe_event(event, page.name)}: {plain_text(value)}")
            return hit if kind in ("", "noted") else None
        case ev.KnowledgeDeleted():
            return _described(page, seq, time, event) if kind in ("", "noted") else None
        case ev.ActionApplied() | ev.ActionRefused() | ev.ReactionAdded():
            return _described(page, seq, time, event) if kind in ("", "did") else None
        case ev.ReplyReceived():
            text = event.error or event.text
            return _Hit(seq, time, event.agent, 0, text) if text and kind == "answers" else None
        case _:
            return _described(page, seq, time, event) if kind in ("", "world") else None


def _described(page: PageData, seq: int, time: int, event: ev.WorldEvent) -> _Hit:
    who = getattr(event, "agent", getattr(event, "by", -1))
    return _Hit(seq, time, who, getattr(event, "room", 0), describe_event(event, page.name))


def _hit_row(page: PageData, hit: _Hit, words: Sequence[str]) -> HtmlElement:
    place = f"{page.name(hit.where)}’s room" if hit.where else ""
    url = UrlState(room=hit.where, agent=max(0, hit.who), seq=hit.seq, when="beat" if not hit.message else "now")
    text = excerpt(hit.text, 400)
    return e(
        "li",
        e(
            "p",
            e("a", f"event {hit.seq:,}", href=url.href(), title="The world at this event"),
            " ",
            clock(hit.happened_at, seconds=True),
            e("b", f" {page.name(hit.who)}") if hit.who >= 0 and hit.message else None,
            f" · {place}" if place and hit.message else "",
            class_="where",
        ),
        e("p", _marked(text, words)),
    )


def _marked(text: str, words: Sequence[str]) -> list[Child]:
    """Return a text with every place of these words marked."""
    pieces: list[Child] = []
    lower, start = text.casefold(), 0
    if len(lower) != len(text):  # letters that fold to several: places would be others
        return [text]
    while True:
        places = [(lower.find(word, start), len(word)) for word in words if word and lower.find(word, start) >= 0]
        if not places:
            return [*pieces, text[start:]]
        place, length = min(places, key=lambda hit: (hit[0], -hit[1]))
        pieces += [text[start:place], e("mark", text[place : place + length])]
        start = place + length


# -- two HUDs compared ---------------------------------------------------------------------------------------------


def hud_diff_page(request: SideRequest) -> str:
    """Return what differs between the HUDs of two beats of an `agent`, by their numbers `a` and `b`.

    They are compared by line, or `by` word. Raises `ConfigError` where there is no such agent.
    """
    page = request.page_data()
    agent = page.world.agents.get(request.number("agent"))
    if agent is None:
        raise ConfigError("there is no such agent")
    beats = [beat for beat in page.metrics.beats_of(agent.id) if beat.seq > 1]
    by: Literal["line", "word"] = "word" if request.values.get("by") == "word" else "line"
    if len(beats) < 2:
        too_few = e("p", "It had no two beats yet.", class_="empty")
        return render_side_page(page, f"{agent.name}: what changed in what it sees", too_few)
    later = _beat(beats, request.number("b")) or beats[-1]
    earlier = _beat(beats, request.number("a")) or next(
        (beat for beat in reversed(beats) if beat.seq < later.seq), beats[0]
    )
    before, after = (_hud_text(page, agent, beat) for beat in (earlier, later))
    options = [(str(beat.number), f"beat {beat.number}") for beat in beats]
    return render_side_page(
        page,
        f"{agent.name}: what changed in what it sees",
        e(
            "form",
            hidden("agent", agent.id),
            field("From", choice("a", options, str(earlier.number))),
            field("To", choice("b", options, str(later.number))),
            field("Compared", choice("by", (("line", "by line"), ("word", "by word")), by)),
            button("Compare"),
            action="/diff",
            method="get",
            class_="filters",
        ),
        e(
            "p",
            f"− beat {earlier.number} ",
            clock(earlier.composed_at, seconds=True),
            f", {earlier.tokens:,} tokens; + beat {later.number} ",
            clock(later.composed_at, seconds=True),
            f", {later.tokens:,} tokens. ",
            e("a", "The world then", href=UrlState(agent=agent.id, seq=later.seq, when="beat", view="agent").href()),
            class_="hint",
        ),
        _changes(before, after, by),
    )


def _beat(beats: Sequence[BeatRecord], number: int) -> BeatRecord | None:
    return next((beat for beat in beats if beat.number == number), None)


def _hud_text(page: PageData, agent: AgentState, beat: BeatRecord) -> str:
    # The HUD was composed before its beat was recorded, so from the world as of the event before.
    before = page.context.past(beat.seq - 1).world
    text = as_markdown(page.context.agent_hud(before, agent.id, beat.composed_at))
    return text.rpartition(f"\n## {INSTRUCTIONS}\n")[0]


def _changes(before: str, after: str, by: Literal["line", "word"]) -> Child:
    if before == after:
        return e("p", "Nothing: it saw the same.", class_="empty")
    if by == "word":
        tags = {"cut": "del", "add": "ins"}
        pieces = [
            e(tags[change.kind], change.text) if change.kind in tags else change.text
            for change in compare_words(before, after)
        ]
        return e("div", pieces, class_="changes words", id="changes")
    changes = compare_lines(before, after)
    cut, new = (sum(change.kind == kind for change in changes) for kind in ("cut", "add"))
    return (
        e("p", f"{count_of(new, 'line')} new, {count_of(cut, 'line')} gone", class_="hint"),
        e("ul", [_change_row(change) for change in changes], class_="changes", id="changes"),
    )


def _change_row(change: TextChange) -> HtmlElement:
    sign = e("span", _SIGNS[change.kind], class_="sign")
    return e("li", sign, e("span", change.text), class_=change.kind)


# -- other worlds --------------------------------------------------------------------------------------------------


def worlds_page(request: SideRequest) -> str:
    """Return the user's worlds, each with a button that opens it, and how a world is made."""
    page = request.page_data()
    here = request.session.world or request.worlds.first.file_name
    rows = [_world_row(page, entry, is_here=entry.name == here) for entry in request.worlds.entries()]
    head = e("tr", [e("th", text, scope="col") for text in ("world", "changed", "size", "")])
    return render_side_page(
        page,
        "Worlds",
        e("p", "A world that is opened stands until you press Play.", class_="hint"),
        e("table", e("thead", head), e("tbody", rows), class_="list")
        if rows
        else e("p", "This page knows one world only.", class_="empty"),
        e(
            "p",
            "A new one: ",
            e("code", "hudkit rooms new harbour"),
            ". A fork: go back with the slider, and press Fork.",
            class_="hint",
        ),
    )


def _world_row(page: PageData, entry: WorldFileEntry, *, is_here: bool) -> HtmlElement:
    opening = form(page, "open", hidden("world", entry.name), button("Open", aria_label=f"Open {entry.name}"))
    return e(
        "tr",
        e("th", entry.name, scope="row"),
        e("td", day_and_time(entry.changed_at)),
        e(
            "td",
            f"{entry.size / 1e6:,.1f} MB" if entry.size > 1e6 else f"{entry.size / 1e3:,.0f} kB",
            class_="number",
        ),
        e("td", "this one" if is_here else opening),
        class_=classes(is_here and "here"),
    )
