"""The middle column: a room, what is said in it, what the Architect sets in it, and the Architect's composer."""

from __future__ import annotations

from hudkit.compose.formats.html.hast import HtmlElement
from hudkit.rooms.page.widgets import (
    PageData,
    button,
    face,
    field,
    form,
    hidden,
    select_or_number,
)
from hudkit.rooms.world import AccessRequest, RoomKey, RoomMessage, RoomState, World
from hudkit.rooms.world_events import ARCHITECT, SYSTEM
from hudkit.web.elements import classes, e
from hudkit.web.page_text import clock, count_of, excerpt

_SHOWN = 80
"""Messages at a time, at least. The newest are up to twice as many: the first stays the same while they come, so that
nothing moves under the eyes of who reads."""


_REACTION_SIGNS = {
    "thumbs_up": "M2 7h2.5v7H2z"
    "M6 7l2.5-5c1.2 0 1.8.8 1.6 2L9.8 6H13c.9 0 1.5.8 1.3 1.6l-1.2 5.2c-.2.7-.7 1.2-1.4 1.2H6z",
    "thumbs_down": "M2 9h2.5V2H2z"
    "M6 9l2.5 5c1.2 0 1.8-.8 1.6-2L9.8 10H13c.9 0 1.5-.8 1.3-1.6l-1.2-5.2c-.2-.7-.7-1.2-1.4-1.2H6z",
    "brain": "M7.4 2.6C6 1.4 4 2.2 3.9 4 2.4 4.4 1.9 6 2.6 7.2 1.4 8.3 1.8 10.4 3.4 11 3.6 13 6 13.9 7.4 12.6z"
    "M8.6 2.6C10 1.4 12 2.2 12.1 4c1.5.4 2 2 1.3 3.2 1.2 1.1.8 3.2-.8 3.8-.2 2-2.6 2.9-4 1.6z",
    "heart": "M8 14 2.5 8.5C.9 6.9 1 4.5 2.5 3.3 4.2 2 6.5 2.4 8 4.4c1.5-2 3.8-2.4 5.5-1.1 1.5 1.2 1.6 3.6 0 5.2z",
}
"""The reactions, each as the outline of its sign: few machines have a font with all four."""
_GROUP_MS = 5 * 60_000
"""Time within which somebody's messages stand together, under one name."""


def room_column(page: PageData) -> HtmlElement:
    """Return the room that is looked at; in a world without agents, how to begin."""
    room = page.world.rooms.get(page.url.room)
    if room is None:
        inner: list[HtmlElement] = [
            e(
                "div",
                e("h2", "A world without agents"),
                e("p", "Make one: a persona is someone, a bot has a task. Each brings a room of its own."),
                e("a", "New agent", href=page.url.href(new=True, view="agent"), class_="button strong"),
                class_="empty big",
            )
        ]
    else:
        inner = [_header(page, room), _messages(page, room), _newest(), _composer(page, room)]
    return e("main", inner, class_="column talk", id="talk")


def _header(page: PageData, room: RoomState) -> HtmlElement:
    world = page.world
    closed = world.agents[room.id].retired
    return e(
        "header",
        e(
            "div",
            e("h2", f"{page.name(room.id)}’s room"),
            e(
                "p",
                count_of(len(room.members), "member"),
                f" · {room.wpm} words a minute",
                " · closed" if closed else "",
                f" · {count_of(len(room.requests), 'request')} open" if room.requests else "",
            ),
            class_="grow",
        ),
        _room_settings(page, room),
        e("p", room.billboard, class_="billboard", title="The room's billboard") if room.billboard else None,
        class_="room",
    )


def _messages(page: PageData, room: RoomState) -> HtmlElement:
    url, world = page.url, page.world
    threads = _Threads(world, room)
    ids = room.messages
    if url.thread:
        ids = threads.whole(url.thread)
    if url.before:
        ids = [id for id in ids if id < url.before]
    count = _SHOWN if url.before else _SHOWN + len(ids) % _SHOWN
    shown = ids[-count:]
    rows = []
    previous = None
    for id in shown:
        message = world.messages[id]
        rows.append(_message_row(page, message, threads, previous))
        previous = message
    return e(
        "div",
        e("p", "One thread. ", e("a", "The whole room", href=url.href(thread=0)), class_="hint")
        if url.thread
        else None,
        e(
            "p",
            e("a", f"{count_of(len(ids) - len(shown), 'older message')}", href=url.href(before=shown[0])),
            class_="hint",
        )
        if len(ids) > len(shown)
        else None,
        e("p", "Older messages. ", e("a", "The newest", href=url.href(before=0)), class_="hint")
        if url.before
        else None,
        e("ol", rows, class_="messages", role="log", aria_live="polite", aria_label="Messages", id="list"),
        None if rows else e("p", "Nothing was said here yet.", class_="empty"),
        id="messages",
        class_="scroll",
        tabindex="0",
        data_room=f"{room.id}.{url.thread}.{url.before}",
    )


def _newest() -> HtmlElement:
    """Return what leads down from older messages; the script shows it where there are newer ones below."""
    return e("p", e("button", "Newer messages ↓", type="button", class_="button", id="newest"), class_="newest")


def _composer(page: PageData, room: RoomState) -> HtmlElement:
    if page.past or page.world.agents[room.id].retired:
        why = "This is how it was: nothing can be said." if page.past else "This room is closed."
        return e("p", why, class_="composer shut")
    url, session = page.url, page.session
    answered = page.world.messages.get(url.reply)
    if answered is not None and answered.room != room.id:
        answered = None
    return form(
        page,
        "say",
        hidden("room", room.id),
        hidden("reply", answered.id if answered else 0),
        e(
            "p",
            "Replying to ",
            e("b", page.name(answered.sender)),
            f": {excerpt(answered.content)} ",
            e("a", "not as a reply", href=url.href(reply=0)),
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
                maxlength=page.world.rules.caps.message,
                required=True,
                placeholder=f"Say something in {page.name(room.id)}’s room, as the Architect",
                aria_label="Message",
            ),
            button("Say", class_="strong"),
            class_="line",
        ),
        class_="composer",
        id="composer",
        data_said=str(session.posted),
    )


class _Threads:
    """Who answers what in a room."""

    def __init__(self, world: World, room: RoomState) -> None:
        self._world = world
        self._answers: dict[int, list[int]] = {}
        for id in room.messages:
            to = world.messages[id].reply_to
            if to:
                self._answers.setdefault(to, []).append(id)

    def answer_count(self, id: int) -> int:
        """Return how many messages answer this one itself."""
        return len(self._answers.get(id, ()))

    def whole(self, id: int) -> list[int]:
        """Return the thread that a message is in, from its beginning, in the order in which it was said."""
        first = id
        while first in self._world.messages and (above := self._world.messages[first].reply_to):
            first = above
        thread, pending = [], [first]
        while pending:
            message = pending.pop()
            if message in self._world.messages:
                thread.append(message)
                pending += self._answers.get(message, ())
        return sorted(thread)


def _message_row(
    page: PageData, message: RoomMessage, threads: _Threads, previous: RoomMessage | None
) -> HtmlElement:
    if message.sender == SYSTEM:
        return e("li", e("p", message.content, " ", clock(message.posted_at)), class_="system", id=f"m{message.id}")
    together = (
        previous is not None
        and previous.sender == message.sender
        and message.posted_at - previous.posted_at < _GROUP_MS
        and not message.reply_to
    )
    return e(
        "li",
        None if together else face(page, message.sender),
        e(
            "div",
            None if together else _sender_line(page, message),
            _quote(page, message),
            e("p", message.content, class_="content"),
            _message_footer(page, message, threads),
            class_="body",
        ),
        class_=classes("message", together and "together", message.sender == ARCHITECT and "mine"),
        id=f"m{message.id}",
    )


def _sender_line(page: PageData, message: RoomMessage) -> HtmlElement:
    name = page.name(message.sender)
    sender: HtmlElement
    if message.sender == ARCHITECT:
        sender = e("b", name)
    else:
        sender = e("a", name, href=page.url.href(agent=message.sender, view="agent", new=False, when="now"))
    id = e("small", f"{message.sender}", title="The agent's number") if message.sender > 0 else None
    return e("p", sender, " ", id, " ", clock(message.posted_at), class_="who")


def _quote(page: PageData, message: RoomMessage) -> HtmlElement | None:
    to = page.world.messages.get(message.reply_to)
    if to is None:
        return None
    return e(
        "a",
        e("b", page.name(to.sender)),
        f" {excerpt(to.content, 90)}",
        href=f"#m{to.id}",
        class_="quote",
    )


def _message_footer(page: PageData, message: RoomMessage, threads: _Threads) -> HtmlElement:
    """Return reactions, the way to answer, and the thread; what is for the Architect to do shows at a touch."""
    url = page.url
    present = []
    missing = []
    for name, sign in _REACTION_SIGNS.items():
        fans = message.reactions.get(name, ())
        label = f"{name.replace('_', ' ')}: {', '.join(page.name(id) for id in fans[:8])}"
        mine = ARCHITECT in fans or message.sender == ARCHITECT or page.past
        if fans:
            present.append(_reaction(name, sign, len(fans), label, disabled=mine))
        elif not mine:
            missing.append(_reaction(name, sign, 0, name.replace("_", " "), disabled=False))
    answers = threads.answer_count(message.id)
    doing = None
    if not page.past:
        doing = e("span", missing, e("a", "Reply", href=url.href(reply=message.id, before=0)), class_="doing")
    thread = None
    if answers and url.thread != message.id:
        thread = e("a", count_of(answers, "reply", "replies"), href=url.href(thread=message.id))
    return form(page, "react", hidden("message", message.id), present, thread, doing, class_="under")


def _reaction(name: str, sign: str, count: int, label: str, *, disabled: bool) -> HtmlElement:
    return e(
        "button",
        e("svg", e("path", d=sign), viewBox="0 0 16 16", class_="sign", aria_hidden="true"),
        str(count) if count else None,
        type="submit",
        name="reaction",
        value=name,
        title=label,
        aria_label=f"{label} ({count})" if count else label,
        class_=classes("reaction", name, count > 0 and "given"),
        disabled=disabled,
    )


def _room_settings(page: PageData, room: RoomState) -> HtmlElement:
    requests = count_of(len(room.requests), "request")
    return e(
        "details",
        e(
            "summary",
            e("span", [face(page, id, small=True) for id in room.members[:5]], class_="faces"),
            e("span", "Members, keys", e("b", f" · {requests}") if room.requests else None),
            class_="button quiet",
        ),
        e(
            "div",
            _requests(page, room) if room.requests else None,
            _members(page, room),
            _keys(page, room),
            None if page.past else _billboard_and_pace(page, room),
            class_="panel",
        ),
        class_="settings",
        id=f"settings-{room.id}",
    )


def _requests(page: PageData, room: RoomState) -> HtmlElement:
    def row(request: AccessRequest) -> HtmlElement:
        answer = None
        if not page.past:
            answer = (
                form(page, "grant", hidden("request", request.id), button("Let in", class_="strong")),
                form(page, "deny", hidden("request", request.id), button("Deny")),
            )
        text = f"{page.name(request.agent)} ({request.agent}) with the key {request.label!r}, "
        return e("li", e("span", text, clock(request.requested_at), class_="grow"), answer)

    return e("section", e("h3", "Requests"), e("ul", [row(page.world.requests[id]) for id in room.requests]))


def _members(page: PageData, room: RoomState) -> HtmlElement:
    def row(id: int) -> HtmlElement:
        away = None
        if not page.past and id != room.id:
            remove = button("Remove", class_="quiet", aria_label=f"Remove {page.name(id)}")
            away = form(page, "remove", hidden("room", room.id), hidden("agent", id), remove)
        owner = e("small", " owner") if id == room.id else None
        return e("li", face(page, id, small=True), e("span", page.name(id), owner, class_="grow"), away)

    others = [
        (str(agent.id), f"{agent.name} ({agent.id})")
        for agent in page.world.agents.values()
        if not agent.retired and agent.id not in room.members
    ]
    if ARCHITECT not in room.members:
        others.insert(0, ("0", "The Architect"))
    letting = None
    if others and not page.past and not page.world.agents[room.id].retired:
        letting = form(
            page,
            "admit",
            hidden("room", room.id),
            e("label", e("span", "Let in", class_="label hide"), select_or_number("agent", others, others[0][0])),
            button("Let in"),
            class_="line",
        )
    return e("section", e("h3", "Members"), e("ul", [row(id) for id in room.members]), letting)


def _keys(page: PageData, room: RoomState) -> HtmlElement:
    def row(key: RoomKey) -> HtmlElement:
        uses = count_of(key.uses, "use") + " left" if key.uses else "any number of uses"
        away = None
        if not page.past:
            revoke = button("Revoke it for good", class_="danger", aria_label=f"Revoke {key.label} for good")
            away = e(
                "details",
                e("summary", "Revoke", class_="button quiet", aria_label=f"Revoke {key.label}"),
                form(page, "revoke", hidden("room", room.id), hidden("label", key.label), revoke),
                id=f"revoke-{room.id}-{key.label}",
                class_="sure",
            )
        return e("li", e("span", e("code", key.label), e("small", f" {uses}"), class_="grow"), away)

    making = None
    if not page.past:
        making = form(
            page,
            "key",
            hidden("room", room.id),
            field("A new key’s label", e("input", name="label", required=True, maxlength=50, autocomplete="off")),
            field("Uses (0: any)", e("input", type="number", name="uses", min=0, max=1000, value="0")),
            button("Make a key"),
            class_="making",
        )
    return e("section", e("h3", "Keys"), e("ul", [row(key) for key in room.keys]) if room.keys else None, making)


def _billboard_and_pace(page: PageData, room: RoomState) -> HtmlElement:
    words = page.world.rules.words
    return e(
        "section",
        e("h3", "Room"),
        form(
            page,
            "billboard",
            hidden("room", room.id),
            field("Billboard", e("textarea", room.billboard, name="text", rows=2, maxlength=4000)),
            button("Write"),
        ),
        form(
            page,
            "wpm",
            hidden("room", room.id),
            field(
                "Words a minute",
                e(
                    "input",
                    type="number",
                    name="wpm",
                    min=words.min_wpm,
                    max=words.max_wpm,
                    value=room.wpm,
                    required=True,
                ),
            ),
            button("Set"),
        ),
    )
