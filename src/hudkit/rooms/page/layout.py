"""The whole page: head, the bar above, the list of rooms and agents, and the timeline below with its events in words.

The two other columns are `room_column` and `agent_column`. Everything here is a function from `PageData` to elements.
"""

from __future__ import annotations

from hudkit.compose import shorten
from hudkit.compose.formats.html.hast import HtmlElement
from hudkit.rooms.page.agent_column import agent_column
from hudkit.rooms.page.event_words import describe_event
from hudkit.rooms.page.login import LoginSession, Notice
from hudkit.rooms.page.page_context import PageContext
from hudkit.rooms.page.room_column import room_column
from hudkit.rooms.page.side_pages import search_form
from hudkit.rooms.page.url_state import UrlState
from hudkit.rooms.page.widgets import (
    MAX_LISTED,
    PageData,
    agent_status,
    button,
    choice,
    face,
    field,
    form,
    hidden,
    sparkline,
)
from hudkit.rooms.players import IMPROVISER_MODEL
from hudkit.rooms.recording import RecordingPlayer
from hudkit.rooms.world import AgentState, RoomState
from hudkit.web.elements import classes, e, write
from hudkit.web.page_text import clock, count_of, dollars, duration, excerpt

_HTMX = '{"includeIndicatorCSS": false, "morphIgnore": ["data-htmx-powered", "open"], "prefix": ""}'
"""What is unfolded stays so when the page is written anew."""

_QUIET_MS = 30_000
"""Time without any event after which the bar says why nobody talks."""

_SPEEDS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0)

_KEYS = (
    ("c", "write a message"),
    ("j / k", "next or previous room"),
    ("p", "pause or play"),
    ("s", "one beat"),
    ("[ / ]", "one event back or forward"),
    ("l", "back to now"),
    ("/", "search"),
    ("?", "these keys"),
)


def render_page(context: PageContext, session: LoginSession, url: UrlState) -> str:
    """Return the HTML of the page that an address describes, and note that its room was read.

    Raises `ConfigError` where it goes back to an event that there is not.
    """
    context.world_log.refresh()
    page = _page_data(context, session, url)
    if not page.past and (room := page.world.rooms.get(page.url.room)) and room.messages:
        session.last_read[room.id] = room.messages[-1]
    return write(e("html", _head(page), e("body", _app(page), _fault(), _help()), lang="en"))


def _page_data(context: PageContext, session: LoginSession, url: UrlState) -> PageData:
    """Return what is looked at; a room and an agent are chosen where the address names none that there is."""
    if url.seq:
        past = context.past(url.seq)
        world, metrics, now = past.world, past.metrics, past.world.now
    else:
        context.metrics.follow()
        world, metrics, now = context.world_log.world, context.metrics, context.now()
    if url.room not in world.rooms:
        liveliest = max(world.rooms.values(), key=_last_message, default=None)
        url = url.copy_with(room=liveliest.id if liveliest else 0, thread=0, reply=0, before=0)
    if url.agent not in world.agents:
        url = url.copy_with(agent=url.room)
    return PageData(context, session, url, world, metrics, now)


def _head(page: PageData) -> HtmlElement:
    static = "/static/"
    return e(
        "head",
        e("meta", charset="utf-8"),
        e("title", f"{shorten(page.world.name, 60)} · rooms"),
        e("meta", name="viewport", content="width=device-width, initial-scale=1"),
        e("meta", name="color-scheme", content="light dark"),
        e("meta", name="htmx-config", content=_HTMX),
        e("link", rel="icon", href="/static/icon.svg"),
        e("link", rel="stylesheet", href="/static/base.css"),
        e("link", rel="stylesheet", href="/static/page.css"),
        [e("script", src=f"{static}{name}", defer=True) for name in ("vendor/htmx-4.0.1.min.js", "page.js")],
    )


def _app(page: PageData) -> HtmlElement:
    url = page.url
    return e(
        "div",
        e("a", "To the messages", href="#messages", class_="skip"),
        e("a", "To the message box", href="#text", class_="skip") if not page.past else None,
        e("a", "To the agent", href="#right", class_="skip"),
        _top_bar(page),
        _introduction(page),
        _notice(page, page.session.notice) if page.session.notice else None,
        e("div", _list_column(page), room_column(page), agent_column(page), class_="columns"),
        _timeline(page),
        _column_switch(url),
        e(
            "div",
            id="again",
            hx_get=url.href(),
            hx_trigger="again",
            hx_target="#app",
            hx_select="#app",
            hx_swap="outerMorph",
        ),
        id="app",
        class_="app past" if page.past else "app",
        hx_boost="target:'#app' select:'#app' swap:outerMorph",
        data_seq=page.context.world_log.world.seq,
        data_live=None if page.past else "yes",
        data_view=url.view,
    )


def _introduction(page: PageData) -> HtmlElement | None:
    """Return what this is and what to try, until it is put away."""
    if page.session.knows:
        return None
    recorded = page.context.recorded
    if recorded is not None:
        played = f"are recorded. {recorded.recording.about}".rstrip(".")
    else:
        played = "are played by rules and chance" if _is_improvised(page) else "are language models"
    return e(
        "section",
        e(
            "p",
            e("b", "A world of agents. "),
            f"They {played}. Each sees nothing but its HUD, on the right, and remembers what it writes down. "
            "You are the Architect. ",
            e("span", "Try: choose an agent and read what it sees; say something; pull the slider back, and "),
            e("span", "press Fork to make another future."),
            e("span", " As soon as you say something, the improviser plays on from there.") if recorded else None,
        ),
        form(page, "understood", button("Put away", class_="quiet")),
        class_="introduction",
        aria_label="What this is",
    )


def _is_improvised(page: PageData) -> bool:
    models = {agent.model for agent in page.world.agents.values() if not agent.retired}
    return models <= {IMPROVISER_MODEL}


def _notice(page: PageData, notice: Notice) -> HtmlElement:
    return e(
        "div",
        e("p", notice.text, " ", e("code", notice.secret, class_="secret") if notice.secret else None),
        form(page, "dismiss", button("Close", class_="quiet")),
        class_=f"notice {notice.kind}",
        role="alert" if notice.kind == "refused" else "status",
        id=f"notice-{page.session.notices}",
    )


def _column_switch(url: UrlState) -> HtmlElement:
    """Return the choice of the one column that a narrow screen shows."""
    views = (("rooms", "Rooms"), ("talk", "Messages"), ("agent", "Agent"))
    return e(
        "nav",
        [
            e("a", label, href=url.href(view=view), aria_current="page" if url.view == view else None)
            for view, label in views
        ],
        class_="narrow",
        aria_label="Parts of the page",
    )


def _fault() -> HtmlElement:
    """Return the place where the script says that an answer failed, or that there is none."""
    return e("p", id="fault", class_="fault toast", role="alert", hidden=True, hx_morph_skip=True)


def _help() -> HtmlElement:
    rows = [(e("dt", e("kbd", key)), e("dd", effect)) for key, effect in _KEYS]
    return e(
        "section", e("h2", "Keys"), e("dl", rows), id="keys", class_="keys", aria_label="Keys", hx_morph_skip=True
    )


def _top_bar(page: PageData) -> HtmlElement:
    world = page.world
    return e(
        "header",
        e("div", e("span", "hudkit rooms", class_="brand"), e("h1", world.name), class_="title"),
        _play_controls(page) if not page.past else e("p", "as it was", class_="playing was"),
        _figures(page),
        e(
            "nav",
            e("a", "New agent", href=page.url.href(new=True, view="agent"), class_="button")
            if not page.past
            else None,
            e("a", "Figures", href="/figures", class_="button quiet", hx_boost="false"),
            e("a", "Worlds", href="/worlds", class_="button quiet", hx_boost="false"),
            e("a", "?", href="#keys", class_="button quiet", title="Keys", aria_label="Keys"),
            e(
                "form",
                e("input", type="hidden", name="csrf", value=page.session.csrf),
                button("Log out", class_="quiet"),
                method="post",
                action="/logout",
                hx_boost="false",
            ),
            class_="menu",
            aria_label="World",
        ),
        class_="top",
    )


def _play_controls(page: PageData) -> HtmlElement:
    world = page.world
    context = page.context
    alone = context.player is None
    recorded = context.recorded
    is_held = recorded is not None and recorded.paused
    paused = world.paused is not None or is_held or (not alone and not context.playing)
    if recorded is not None:
        status = _recording_status(recorded)
    elif world.paused is not None:
        status = f"Paused: {world.paused or 'the Architect'}"
    elif paused:
        status = f"Stopped: {context.fault}" if context.fault else "Stopped"
    elif world.agents and page.now - world.now > _QUIET_MS * max(1.0, world.speed):
        status = "Quiet: nobody sees anything new"
    else:
        status = ""
    speeds = sorted({*_SPEEDS, context.speed})
    return e(
        "div",
        form(page, "resume", button("▶ Play", class_="strong", id="play"))
        if paused
        else form(page, "pause", button("❚❚ Pause", class_="strong", id="play")),
        form(page, "step", button("Step", id="step", disabled=alone, title="Let one beat take place")),
        form(
            page,
            "speed",
            e(
                "label",
                e("span", "Speed", class_="label hide"),
                choice("factor", [(f"{speed:g}", f"{speed:g} ×") for speed in speeds], f"{context.speed:g}"),
            ),
            button("Set", class_="quiet scripted"),
            class_="speed",
        ),
        form(
            page,
            "stop",
            button(
                "Stop",
                class_="danger",
                disabled=alone or not context.playing,
                title="No beat begins any more, and those under way have no effect",
            ),
        ),
        e("span", status, class_="paused", role="status") if status else None,
        class_="playing",
    )


def _recording_status(recorded: RecordingPlayer) -> str:
    """Return how far a recording is."""
    total = len(recorded.recording.drafts)
    if recorded.shown >= total:
        return "The recording is over: Play lets the improviser go on"
    return f"Recorded: event {recorded.shown:,} of {total:,}{', held' if recorded.paused else ''}"


def _figures(page: PageData) -> HtmlElement:
    world, metrics, now = page.world, page.metrics, page.now
    _, beats, _ = metrics.series(now)
    late_99 = duration(metrics.lateness(now) * 1000)
    living = sum(not agent.retired for agent in world.agents.values())
    figures = (
        ("agents", f"{living:,}", count_of(living, "agent")),
        ("beats/min", f"{metrics.per_minute(now):,}", f"{count_of(world.beats, 'beat')} so far"),
        (
            "late",
            late_99,
            "99 of 100 beats of the last minute were late at most so much",
        ),
        ("cost", dollars(world.cost), "What the models' providers are paid, as they report it"),
    )
    return e(
        "div",
        e("dl", [e("div", e("dt", label), e("dd", value), title=title) for label, value, title in figures]),
        e("a", sparkline("beats/min, 10 minutes", beats), href="/figures", class_="pulse", hx_boost="false"),
        class_="figures",
    )


def _list_column(page: PageData) -> HtmlElement:
    """Return the rooms and agents in the order of their ids; of very many the most lively, and those looked at."""
    world, url = page.world, page.url
    rooms = sorted(world.rooms.values(), key=lambda room: (room.id != url.room, -_last_message(room)))[:MAX_LISTED]
    rooms.sort(key=lambda room: room.id)
    agents = sorted(
        world.agents.values(), key=lambda agent: (agent.id != url.agent, agent.retired, -agent.last_beat)
    )[:MAX_LISTED]
    agents.sort(key=lambda agent: (agent.retired, agent.id))
    return e(
        "nav",
        search_form(),
        e("h2", "Rooms", e("span", f" {len(world.rooms):,}", class_="count")),
        e("ul", [_room_row(page, room) for room in rooms], class_="rows", id="rooms"),
        e("h2", "Agents", e("span", f" {len(world.agents):,}", class_="count")),
        e("ul", [_agent_row(page, agent) for agent in agents], class_="rows", id="agents"),
        None if rooms else e("p", "Nobody is here yet. Make an agent: it brings a room.", class_="empty"),
        class_="column left",
        aria_label="Rooms and agents",
        id="left",
    )


def _last_message(room: RoomState) -> int:
    return room.messages[-1] if room.messages else 0


def _room_row(page: PageData, room: RoomState) -> HtmlElement:
    url = page.url
    here = room.id == url.room
    last = page.world.messages[room.messages[-1]] if room.messages else None
    seen = page.session.last_read.get(room.id, 0)
    unread = 0
    if not here and not page.past:
        unread = sum(id > seen for id in room.messages[-100:])  # "99+" is all that is told of more
    closed = page.world.agents[room.id].retired
    latest = "Nothing was said yet"
    if last is not None:
        latest = f"{page.name(last.sender)}: {excerpt(last.content, 60)}"
    return e(
        "li",
        e(
            "a",
            face(page, room.id),
            e(
                "span",
                e("span", f"{page.name(room.id)}’s room", class_="name"),
                e("span", latest, class_="said"),
                class_="grow",
            ),
            e(
                "span",
                clock(last.posted_at) if last is not None else None,
                _room_marks(room, unread, closed=closed),
                class_="side",
            ),
            href=url.href(room=room.id, thread=0, reply=0, before=0, view="talk", new=False),
            aria_current="page" if here else None,
            class_=classes("row", closed and "closed"),
            title=f"{page.name(room.id)}’s room",
        ),
        id=f"room-{room.id}",
    )


def _room_marks(room: RoomState, unread: int, *, closed: bool) -> HtmlElement:
    asked = None
    if room.requests and not closed:
        requests = count_of(len(room.requests), "request")
        asked = e("span", "asked", class_="badge asked", title=f"{requests} to come in")
    count = "99+" if unread > 99 else str(unread)
    return e(
        "span",
        e("span", "closed", class_="badge") if closed else None,
        asked,
        e("span", count, class_="unread", title="not read yet") if unread else None,
        class_="marks",
    )


def _agent_row(page: PageData, agent: AgentState) -> HtmlElement:
    url = page.url
    style, words = agent_status(page, agent)
    return e(
        "li",
        e(
            "a",
            e("span", class_=f"dot {'error' if agent.last_error else style}", aria_hidden="true"),
            e("span", agent.name, e("small", f" {agent.id}"), class_="name grow"),
            e("span", "error", class_="badge error") if agent.last_error else None,
            e("span", words, class_="side"),
            href=url.href(agent=agent.id, view="agent", new=False, when="now"),
            aria_current="true" if agent.id == url.agent else None,
            class_=classes("row", "slim", style),
        ),
        id=f"agent-{agent.id}",
    )


def _timeline(page: PageData) -> HtmlElement:
    url, last = page.url, page.context.world_log.world.seq
    seq = url.seq or last
    query = url.copy_with(seq=0).href()[2:]
    following = seq + 1 if seq + 1 < last else 0  # after the last event it is now again
    return e(
        "footer",
        _step_link("◂", "One event back", url.href(seq=max(1, seq - 1)), off=seq <= 1, id="back"),
        e(
            "form",
            [e("input", type="hidden", name=name, value=value) for name, value in _query_pairs(query)],
            e(
                "input",
                type="range",
                name="at",
                id="at",
                min=1,
                max=last,
                value=seq,
                aria_label="Event",
            ),
            e("button", "Go", type="submit", class_="button quiet scripted"),
            method="get",
            action="/",
            class_="slide",
        ),
        _step_link("▸", "One event forward", url.href(seq=following), off=not url.seq, id="forward"),
        e(
            "p",
            e("b", f"{seq:,}"),
            e("span", f" of {last:,} · ", class_="of"),
            clock(page.world.now, seconds=True),
            e("span", f" · {_event_text(page, seq)}", class_="event"),
            class_="where",
        ),
        _fork_and_export(page, seq),
        e(
            "a",
            "● Live",
            href=url.href(seq=0),
            class_="button live",
            id="live",
            aria_current=None if url.seq else "true",
        ),
        class_="timeline",
        aria_label="Time",
    )


def _fork_and_export(page: PageData, seq: int) -> HtmlElement:
    """Return what makes another world of this moment, and what takes the log along."""
    upto = f"&at={seq}" if page.past else ""
    return e(
        "details",
        e("summary", e("span", "Fork", e("small", ", export")), class_="button quiet"),
        e(
            "div",
            form(
                page,
                "fork",
                hidden("seq", seq),
                field(
                    "The fork’s name",
                    e("input", name="name", required=True, maxlength=100, autocomplete="off"),
                    f"A world of its own, with what happened up to event {seq:,}",
                ),
                button("Fork", class_="strong"),
            ),
            e(
                "p",
                "Export up to here: ",
                e("a", "transcript", href=f"/export?format=text{upto}", hx_boost="false"),
                ", ",
                e("a", "events as JSON lines", href=f"/export?format=jsonl{upto}", hx_boost="false"),
            ),
            class_="panel",
        ),
        class_="settings fork",
        id="fork",
    )


def _step_link(sign: str, label: str, address: str, *, off: bool, id: str) -> HtmlElement:
    if off:
        return e("span", sign, class_="button quiet off", aria_hidden="true")
    return e("a", sign, href=address, class_="button quiet", title=label, aria_label=label, id=id)


def _query_pairs(query: str) -> list[tuple[str, str]]:
    pairs = [pair.partition("=") for pair in query.split("&")]
    return [(name, value) for name, _, value in pairs if name]


def _event_text(page: PageData, seq: int) -> str:
    payload = next((payload for _, payload in page.context.world_log.events(seq - 1, seq)), None)
    return describe_event(payload, page.name)
