"""One message: who said it, to what, what others think of it, and who answered."""

from __future__ import annotations

from hudkit.compose.formats.html.hast import Element
from hudkit.rooms.page.views.scene import Scene, clock, excerpt, face, form, hidden, many
from hudkit.rooms.world import RoomMessage, RoomState, World
from hudkit.rooms.world_events import ARCHITECT, SYSTEM
from hudkit.web.elements import classes, e

SIGNS = {
    "thumbs_up": "M2 7h2.5v7H2z"
    "M6 7l2.5-5c1.2 0 1.8.8 1.6 2L9.8 6H13c.9 0 1.5.8 1.3 1.6l-1.2 5.2c-.2.7-.7 1.2-1.4 1.2H6z",
    "thumbs_down": "M2 9h2.5V2H2z"
    "M6 9l2.5 5c1.2 0 1.8-.8 1.6-2L9.8 10H13c.9 0 1.5-.8 1.3-1.6l-1.2-5.2c-.2-.7-.7-1.2-1.4-1.2H6z",
    "brain": "M7.4 2.6C6 1.4 4 2.2 3.9 4 2.4 4.4 1.9 6 2.6 7.2 1.4 8.3 1.8 10.4 3.4 11 3.6 13 6 13.9 7.4 12.6z"
    "M8.6 2.6C10 1.4 12 2.2 12.1 4c1.5.4 2 2 1.3 3.2 1.2 1.1.8 3.2-.8 3.8-.2 2-2.6 2.9-4 1.6z",
    "heart": "M8 14 2.5 8.5C.9 6.9 1 4.5 2.5 3.3 4.2 2 6.5 2.4 8 4.4c1.5-2 3.8-2.4 5.5-1.1 1.5 1.2 1.6 3.6 0 5.2z",
}
"""The reactions, each as the outline of its sign: few machines have a font with all four."""
_CLOSE = 5 * 60_000  # ms within which one's messages stand together


class Threads:
    """Who answers what in a room."""

    def __init__(self, world: World, room: RoomState) -> None:
        self._world = world
        self._answers: dict[int, list[int]] = {}
        for id in room.messages:
            to = world.messages[id].reply_to
            if to:
                self._answers.setdefault(to, []).append(id)

    def answers(self, id: int) -> int:
        return len(self._answers.get(id, ()))

    def whole(self, id: int) -> list[int]:
        """The thread that a message is in, from its beginning, in the order in which it was said."""
        first = id
        while first in self._world.messages and (above := self._world.messages[first].reply_to):
            first = above
        found, ahead = [], [first]
        while ahead:
            one = ahead.pop()
            if one in self._world.messages:
                found.append(one)
                ahead += self._answers.get(one, ())
        return sorted(found)


def message_row(scene: Scene, message: RoomMessage, threads: Threads, previous: RoomMessage | None) -> Element:
    if message.sender == SYSTEM:
        return e("li", e("p", message.content, " ", clock(message.posted_at)), class_="system", id=f"m{message.id}")
    together = (
        previous is not None
        and previous.sender == message.sender
        and message.posted_at - previous.posted_at < _CLOSE
        and not message.reply_to
    )
    return e(
        "li",
        None if together else face(scene, message.sender),
        e(
            "div",
            None if together else _who(scene, message),
            _answered(scene, message),
            e("p", message.content, class_="content"),
            _under(scene, message, threads),
            class_="body",
        ),
        class_=classes("message", together and "together", message.sender == ARCHITECT and "mine"),
        id=f"m{message.id}",
    )


def _who(scene: Scene, message: RoomMessage) -> Element:
    name = scene.name(message.sender)
    sender: Element
    if message.sender == ARCHITECT:
        sender = e("b", name)
    else:
        sender = e("a", name, href=scene.look.url(agent=message.sender, view="agent", new=False, when="now"))
    id = e("small", f"{message.sender}", title="The agent's number") if message.sender > 0 else None
    return e("p", sender, " ", id, " ", clock(message.posted_at), class_="who")


def _answered(scene: Scene, message: RoomMessage) -> Element | None:
    to = scene.world.messages.get(message.reply_to)
    if to is None:
        return None
    return e(
        "a",
        e("b", scene.name(to.sender)),
        f" {excerpt(to.content, 90)}",
        href=f"#m{to.id}",
        class_="quote",
    )


def _under(scene: Scene, message: RoomMessage, threads: Threads) -> Element:
    """Reactions, the way to answer, and the thread; what is for the Architect to do shows at a touch."""
    look = scene.look
    given = []
    missing = []
    for name, sign in SIGNS.items():
        who = message.reactions.get(name, ())
        label = f"{name.replace('_', ' ')}: {', '.join(scene.name(id) for id in who[:8])}"
        mine = ARCHITECT in who or message.sender == ARCHITECT or scene.past
        if who:
            given.append(_reaction(name, sign, len(who), label, disabled=mine))
        elif not mine:
            missing.append(_reaction(name, sign, 0, name.replace("_", " "), disabled=False))
    answers = threads.answers(message.id)
    doing = None
    if not scene.past:
        doing = e("span", missing, e("a", "Reply", href=look.url(reply=message.id, before=0)), class_="doing")
    thread = None
    if answers and look.thread != message.id:
        thread = e("a", many(answers, "reply", "replies"), href=look.url(thread=message.id))
    return form(scene, "react", hidden("message", message.id), given, thread, doing, class_="under")


def _reaction(name: str, sign: str, count: int, label: str, *, disabled: bool) -> Element:
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
