"""The middle column: a room, what is said in it, and the Architect's composer."""

from __future__ import annotations

from hudkit.compose.formats.html.hast import Element
from hudkit.rooms.page.views.messages import Threads, message_row
from hudkit.rooms.page.views.room_settings import room_settings
from hudkit.rooms.page.views.scene import Scene, button, excerpt, form, hidden, many
from hudkit.rooms.world import RoomState
from hudkit.web.elements import e

SHOWN = 80
"""Messages at a time, at least. The newest are up to twice as many: the first stays the same while they come, so that
nothing moves under the eyes of who reads."""


def talk_column(scene: Scene) -> Element:
    room = scene.world.rooms.get(scene.look.room)
    if room is None:
        inner: list[Element] = [
            e(
                "div",
                e("h2", "A world without agents"),
                e("p", "Make one: a persona is someone, a bot has a task. Each brings a room of its own."),
                e("a", "New agent", href=scene.look.url(new=True, view="agent"), class_="button strong"),
                class_="empty big",
            )
        ]
    else:
        inner = [_header(scene, room), _messages(scene, room), _newest(), _composer(scene, room)]
    return e("main", inner, class_="column talk", id="talk")


def _header(scene: Scene, room: RoomState) -> Element:
    world = scene.world
    closed = world.agents[room.id].retired
    return e(
        "header",
        e(
            "div",
            e("h2", f"{scene.name(room.id)}’s room"),
            e(
                "p",
                many(len(room.members), "member"),
                f" · {room.wpm} words a minute",
                " · closed" if closed else "",
                f" · {many(len(room.requests), 'request')} open" if room.requests else "",
            ),
            class_="grow",
        ),
        room_settings(scene, room),
        e("p", room.billboard, class_="billboard", title="The room's billboard") if room.billboard else None,
        class_="room",
    )


def _messages(scene: Scene, room: RoomState) -> Element:
    look, world = scene.look, scene.world
    threads = Threads(world, room)
    ids = room.messages
    if look.thread:
        ids = threads.whole(look.thread)
    if look.before:
        ids = [id for id in ids if id < look.before]
    last = SHOWN if look.before else SHOWN + len(ids) % SHOWN
    shown = ids[-last:]
    rows = []
    previous = None
    for id in shown:
        message = world.messages[id]
        rows.append(message_row(scene, message, threads, previous))
        previous = message
    return e(
        "div",
        e("p", "One thread. ", e("a", "The whole room", href=look.url(thread=0)), class_="hint")
        if look.thread
        else None,
        e(
            "p",
            e("a", f"{many(len(ids) - len(shown), 'older message')}", href=look.url(before=shown[0])),
            class_="hint",
        )
        if len(ids) > len(shown)
        else None,
        e("p", "Older messages. ", e("a", "The newest", href=look.url(before=0)), class_="hint")
        if look.before
        else None,
        e("ol", rows, class_="messages", role="log", aria_live="polite", aria_label="Messages", id="list"),
        None if rows else e("p", "Nothing was said here yet.", class_="empty"),
        id="messages",
        class_="scroll",
        tabindex="0",
        data_room=f"{room.id}.{look.thread}.{look.before}",
    )


def _newest() -> Element:
    """Leads down from older messages; the script shows it where there are newer ones below."""
    return e("p", e("button", "Newer messages ↓", type="button", class_="button", id="newest"), class_="newest")


def _composer(scene: Scene, room: RoomState) -> Element:
    if scene.past or scene.world.agents[room.id].retired:
        why = "This is how it was: nothing can be said." if scene.past else "This room is closed."
        return e("p", why, class_="composer shut")
    look, session = scene.look, scene.session
    answered = scene.world.messages.get(look.reply)
    if answered is not None and answered.room != room.id:
        answered = None
    most = scene.world.rules.caps.message
    return form(
        scene,
        "say",
        hidden("room", room.id),
        hidden("reply", answered.id if answered else 0),
        e(
            "p",
            "Replying to ",
            e("b", scene.name(answered.sender)),
            f": {excerpt(answered.content)} ",
            e("a", "not as a reply", href=look.url(reply=0)),
            class_="replying",
        )
        if answered is not None
        else None,
        e(
            "div",
            e(
                "textarea",
                session.draft,
                name="text",
                id="text",
                rows=2,
                maxlength=most,
                required=True,
                placeholder=f"Say something in {scene.name(room.id)}’s room, as the Architect",
                aria_label="Message",
            ),
            button("Say", class_="strong"),
            class_="line",
        ),
        class_="composer",
        id="composer",
        data_said=str(session.said),
    )
