"""The whole page: head, the bar above, three columns, the timeline below."""

from __future__ import annotations

from hudkit.compose import shorten
from hudkit.compose.formats.html.hast import Element
from hudkit.rooms.page.desk import Desk
from hudkit.rooms.page.look import Look
from hudkit.rooms.page.sessions import Notice, Session
from hudkit.rooms.page.views.agent import agent_column
from hudkit.rooms.page.views.rooms import rooms_column
from hudkit.rooms.page.views.scene import Scene, button, form
from hudkit.rooms.page.views.talk import talk_column
from hudkit.rooms.page.views.timeline import timeline
from hudkit.rooms.page.views.top import top_bar
from hudkit.web.elements import e, write

_HTMX = '{"includeIndicatorCSS": false, "morphIgnore": ["data-htmx-powered", "open"], "prefix": ""}'
"""What is unfolded stays so when the page is written anew."""

_KEYS = (
    ("c", "write a message"),
    ("j / k", "next or previous room"),
    ("p", "pause or play"),
    ("s", "one beat"),
    ("[ / ]", "one event back or forward"),
    ("l", "back to now"),
    ("?", "these keys"),
)


def whole_page(desk: Desk, session: Session, look: Look) -> str:
    """The HTML of a look at the world. Raises `ConfigError` where it goes back to an event that there is not."""
    desk.world_log.refresh()
    scene = _scene(desk, session, look)
    if not scene.past and (room := scene.world.rooms.get(scene.look.room)) and room.messages:
        session.read[room.id] = room.messages[-1]
    return write(e("html", _head(scene), e("body", _app(scene), _fault(), _help()), lang="en"))


def _scene(desk: Desk, session: Session, look: Look) -> Scene:
    """The world that is looked at; a room and an agent are chosen where the look names none that there is."""
    if look.at:
        past = desk.past(look.at)
        world, pulse, now = past.world, past.pulse, past.world.now
    else:
        desk.pulse.follow()
        world, pulse, now = desk.world_log.world, desk.pulse, desk.now()
    if look.room not in world.rooms:
        busiest = max(world.rooms.values(), key=lambda room: room.messages[-1] if room.messages else 0, default=None)
        look = look.but(room=busiest.id if busiest else 0, thread=0, reply=0, before=0)
    if look.agent not in world.agents:
        look = look.but(agent=look.room)
    return Scene(desk, session, look, world, pulse, now)


def _head(scene: Scene) -> Element:
    static = "/static/vendor/"
    return e(
        "head",
        e("meta", charset="utf-8"),
        e("title", f"{shorten(scene.world.name, 60)} · rooms"),
        e("meta", name="viewport", content="width=device-width, initial-scale=1"),
        e("meta", name="color-scheme", content="light dark"),
        e("meta", name="htmx-config", content=_HTMX),
        e("link", rel="icon", href="/static/icon.svg"),
        e("link", rel="stylesheet", href=f"{static}uplot-1.6.32.min.css"),
        e("link", rel="stylesheet", href="/static/page.css"),
        [e("script", src=f"{static}{name}", defer=True) for name in ("htmx-4.0.1.min.js", "uplot-1.6.32.min.js")],
        e("script", src="/static/page.js", defer=True),
    )


def _app(scene: Scene) -> Element:
    look = scene.look
    return e(
        "div",
        e("a", "To the messages", href="#messages", class_="skip"),
        e("a", "To the message box", href="#text", class_="skip") if not scene.past else None,
        e("a", "To the agent", href="#right", class_="skip"),
        top_bar(scene),
        _notice(scene, scene.session.notice) if scene.session.notice else None,
        e("div", rooms_column(scene), talk_column(scene), agent_column(scene), class_="columns"),
        timeline(scene),
        _narrow(look),
        e(
            "div",
            id="again",
            hx_get=look.url(),
            hx_trigger="again",
            hx_target="#app",
            hx_select="#app",
            hx_swap="outerMorph",
        ),
        id="app",
        class_="app past" if scene.past else "app",
        hx_boost="target:'#app' select:'#app' swap:outerMorph",
        data_seq=scene.desk.world_log.world.seq,
        data_live=None if scene.past else "yes",
        data_view=look.view,
    )


def _notice(scene: Scene, notice: Notice) -> Element:
    return e(
        "div",
        e("p", notice.text, " ", e("code", notice.secret, class_="secret") if notice.secret else None),
        form(scene, "dismiss", button("Close", class_="quiet")),
        class_=f"notice {notice.kind}",
        role="alert" if notice.kind == "refused" else "status",
        id=f"notice-{scene.session.told}",
    )


def _narrow(look: Look) -> Element:
    """What a narrow screen shows one of, at its foot."""
    views = (("rooms", "Rooms"), ("talk", "Messages"), ("agent", "Agent"))
    return e(
        "nav",
        [
            e("a", label, href=look.url(view=view), aria_current="page" if look.view == view else None)
            for view, label in views
        ],
        class_="narrow",
        aria_label="Parts of the page",
    )


def _fault() -> Element:
    """Where the script says that an answer failed, or that there is none."""
    return e("p", id="fault", class_="fault toast", role="alert", hidden=True, hx_morph_skip=True)


def _help() -> Element:
    rows = [(e("dt", e("kbd", key)), e("dd", what)) for key, what in _KEYS]
    return e(
        "section", e("h2", "Keys"), e("dl", rows), id="keys", class_="keys", aria_label="Keys", hx_morph_skip=True
    )
