"""What all parts of one page are made from, and the small things that they share."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from hudkit.compose import shorten
from hudkit.compose.formats.html.hast import Element
from hudkit.rooms.page.desk import Desk
from hudkit.rooms.page.look import Look
from hudkit.rooms.page.pulse import Pulse
from hudkit.rooms.page.sessions import Session
from hudkit.rooms.world import AgentState, World
from hudkit.rooms.world_events import ARCHITECT, SYSTEM
from hudkit.web.elements import Child, classes, e

HUES = 12
MOST = 150
"""Rooms or agents that are listed."""


class Scene(msgspec.Struct, frozen=True):
    """The world to be shown, which is `past` where the look goes back, and who looks. `now` is Unix ms."""

    desk: Desk
    session: Session
    look: Look
    world: World
    pulse: Pulse
    now: int

    @property
    def past(self) -> bool:
        return bool(self.look.at)

    @property
    def agent(self) -> AgentState | None:
        """The agent that is looked at."""
        return self.world.agents.get(self.look.agent)

    def name(self, id: int) -> str:
        """How someone is called."""
        if id == ARCHITECT:
            return "The Architect"
        if id == SYSTEM:
            return "System"
        agent = self.world.agents.get(id)
        return agent.name if agent is not None else f"agent {id}"


def form(scene: Scene, deed: str, *children: Child, class_: str = "", **attributes: str | None) -> Element:
    """A form that does a deed, and comes back to this look."""
    return e(
        "form",
        e("input", type="hidden", name="csrf", value=scene.session.csrf),
        e("input", type="hidden", name="look", value=scene.look.url()[2:] or None),
        children,
        method="post",
        action=f"/do/{deed}",
        class_=class_ or None,
        **attributes,
    )


def hidden(name: str, value: object) -> Element:
    return e("input", type="hidden", name=name, value=str(value))


def button(label: Child, *, class_: str = "", **attributes: str | bool | None) -> Element:
    return e("button", label, type="submit", class_=classes("button", class_), **attributes)


def field(label: str, control: Element, hint: str = "") -> Element:
    """A control with its label."""
    return e("label", e("span", label, class_="label"), control, e("small", hint) if hint else None, class_="field")


def choice(name: str, options: Iterable[tuple[str, str]], chosen: str) -> Element:
    """A list of which one is chosen: pairs of value and label."""
    return e(
        "select", [e("option", label, value=value, selected=value == chosen) for value, label in options], name=name
    )


def one_of(name: str, options: list[tuple[str, str]], chosen: str) -> Element:
    """A list of agents or rooms to choose from; of very many, a field for the number."""
    if len(options) <= MOST:
        return choice(name, options, chosen)
    return e("input", type="number", name=name, min=0, value=chosen, title="Its number", required=True)


def face(scene: Scene, id: int, *, small: bool = False) -> Element:
    """A round sign for who says something."""
    if id <= 0:
        return e("span", "◆" if id == ARCHITECT else "·", class_=classes("face", "architect", small and "small"))
    words = scene.name(id).split()
    letters = (words[0][:1] + (words[1][:1] if len(words) > 1 else "")).upper() if words else "?"
    return e("span", letters, class_=classes("face", f"hue-{id * 5 % HUES}", small and "small"), aria_hidden="true")


def clock(at: int, *, seconds: bool = False) -> Element:
    """A time of day on this machine, with the date for programs and at a touch."""
    moment = datetime.fromtimestamp(at / 1000).astimezone()
    text = moment.strftime("%H:%M:%S" if seconds else "%H:%M")
    return e("time", text, datetime=moment.isoformat(timespec="milliseconds"), title=moment.strftime("%c"))


def clock_time(at: int) -> str:
    """The same as words."""
    return datetime.fromtimestamp(at / 1000).astimezone().strftime("%H:%M")


def seconds(ms: float) -> str:
    """A span of time as people say it."""
    number = max(0.0, ms / 1000)
    if number < 10:
        return f"{number:.1f} s"
    if number < 90:
        return f"{number:.0f} s"
    if number < 5400:
        return f"{number / 60:.0f} min"
    return f"{number / 3600:.1f} h"


def dollars(cost: float) -> str:
    return f"${cost:.4f}" if 0 < cost < 1 else f"${cost:,.2f}"


def many(number: int, noun: str, more: str = "") -> str:
    """A number of things; `more` are several where that is not the noun with an s."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {more or noun + 's'}"


def state_of(scene: Scene, agent: AgentState) -> tuple[str, Element]:
    """What an agent is about: a name for its style, and words."""
    if agent.retired:
        return "retired", e("span", "retired")
    if agent.current_beat:
        return "beating", e("span", "thinking…")
    if agent.sleeps_until > scene.now:
        return "asleep", e("span", "asleep until ", clock(agent.sleeps_until))
    if scene.world.paused is not None:
        return "held", e("span", "paused")
    if not scene.past and scene.desk.player is not None and not scene.desk.playing:
        return "held", e("span", "stopped")
    due = agent.due if scene.past else scene.desk.due(agent)
    left = max(0, due - scene.now) / (scene.world.speed or 1.0)
    counting = None if scene.past else str(round(left))
    return "waiting", e("span", f"in {left / 1000:.0f} s", class_="due", data_in=counting)


def excerpt(text: str, limit: int = 80) -> str:
    return shorten(" ".join(text.split()), limit)
