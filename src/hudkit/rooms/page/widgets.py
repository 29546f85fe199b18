"""What every part of the page is rendered from, and the controls and formats that the parts share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import msgspec

from hudkit.compose.formats.html.hast import HtmlElement
from hudkit.rooms.page.login import LoginSession
from hudkit.rooms.page.metrics import BeatMetrics
from hudkit.rooms.page.page_context import PageContext
from hudkit.rooms.page.url_state import UrlState
from hudkit.rooms.world import AgentState, World
from hudkit.rooms.world_events import ARCHITECT, SYSTEM
from hudkit.web.elements import Child, classes, e
from hudkit.web.page_text import clock
from hudkit.web.plots import amount

MAX_LISTED = 150
"""Rooms or agents that are listed: a page of thousands would be slower to render than the world goes on."""

_SPARK_WIDTH, _SPARK_HEIGHT = 200, 30
"""Of a small line, in units of its own: it is stretched."""

HUES = 12
"""Colours of faces in `page.css`."""


class PageData(msgspec.Struct, frozen=True):
    """One page: its address, who looks, and the world to be shown, which is the past where the address goes back.
    `now` is Unix ms of the world's time."""

    context: PageContext
    session: LoginSession
    url: UrlState
    world: World
    metrics: BeatMetrics
    now: int

    @property
    def past(self) -> bool:
        """Whether the world is shown as it was: nothing can be done then."""
        return bool(self.url.seq)

    @property
    def agent(self) -> AgentState | None:
        """Return the agent that is looked at; `None` where none is chosen."""
        return self.world.agents.get(self.url.agent)

    def name(self, id: int) -> str:
        """Return how someone is called."""
        if id == ARCHITECT:
            return "The Architect"
        if id == SYSTEM:
            return "System"
        agent = self.world.agents.get(id)
        return agent.name if agent is not None else f"agent {id}"


def form(page: PageData, action: str, *children: Child, class_: str = "", **attributes: str | None) -> HtmlElement:
    """Return a form that does an action of `form_actions`, and comes back to this page."""
    return e(
        "form",
        e("input", type="hidden", name="csrf", value=page.session.csrf),
        e("input", type="hidden", name="look", value=page.url.href()[2:] or None),
        children,
        method="post",
        action=f"/do/{action}",
        class_=class_ or None,
        **attributes,
    )


def hidden(name: str, value: object) -> HtmlElement:
    """Return a field that is sent without being seen."""
    return e("input", type="hidden", name=name, value=str(value))


def button(label: Child, *, class_: str = "", **attributes: str | bool | None) -> HtmlElement:
    """Return a button that sends its form."""
    return e("button", label, type="submit", class_=classes("button", class_), **attributes)


def field(label: str, control: HtmlElement, hint: str = "") -> HtmlElement:
    """Return a control with its label."""
    return e("label", e("span", label, class_="label"), control, e("small", hint) if hint else None, class_="field")


def choice(name: str, options: Iterable[tuple[str, str]], chosen: str) -> HtmlElement:
    """Return a list of which one is chosen: pairs of value and label."""
    return e(
        "select", [e("option", label, value=value, selected=value == chosen) for value, label in options], name=name
    )


def select_or_number(name: str, options: list[tuple[str, str]], chosen: str) -> HtmlElement:
    """Return a list of agents or rooms to choose from; of more than `MAX_LISTED`, a field for the number."""
    if len(options) <= MAX_LISTED:
        return choice(name, options, chosen)
    return e("input", type="number", name=name, min=0, value=chosen, title="Its number", required=True)


def face(page: PageData, id: int, *, small: bool = False) -> HtmlElement:
    """Return a round sign for who says something: initials on a colour of their own."""
    if id <= 0:
        return e("span", "◆" if id == ARCHITECT else "·", class_=classes("face", "architect", small and "small"))
    words = page.name(id).split()
    letters = (words[0][:1] + (words[1][:1] if len(words) > 1 else "")).upper() if words else "?"
    # Five has no divisor in common with twelve: neighbouring ids have colours far apart, and all twelve are used.
    return e("span", letters, class_=classes("face", f"hue-{id * 5 % HUES}", small and "small"), aria_hidden="true")


def agent_status(page: PageData, agent: AgentState) -> tuple[str, HtmlElement]:
    """Return what an agent is about: a name for its style, and words."""
    if agent.retired:
        return "retired", e("span", "retired")
    if agent.current_beat:
        return "beating", e("span", "thinking…")
    if agent.sleeps_until > page.now:
        return "asleep", e("span", "asleep until ", clock(agent.sleeps_until))
    if page.world.paused is not None:
        return "held", e("span", "paused")
    if not page.past and page.context.player is not None and not page.context.playing:
        return "held", e("span", "stopped")
    due = agent.due if page.past else page.context.due(agent)
    left = max(0, due - page.now) / (page.world.speed or 1.0)
    # The script counts down from here between two loads.
    countdown = None if page.past else str(round(left))
    return "waiting", e("span", f"in {left / 1000:.0f} s", class_="due", data_in=countdown)


def plain_text(value: object) -> str:
    """Return a value of an agent's, such as what it noted, as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def sparkline(label: str, values: Sequence[float]) -> HtmlElement:
    """Return a small line of values, with what it is and its largest value in words."""
    top = max([*values, 1e-9])
    step = _SPARK_WIDTH / max(1, len(values) - 1)
    points = [f"{n * step:.1f} {_SPARK_HEIGHT * (1 - value / top):.1f}" for n, value in enumerate(values)]
    return e(
        "figure",
        e(
            "svg",
            e("path", d=f"M{'L'.join(points)}"),
            viewBox=f"0 -1 {_SPARK_WIDTH} {_SPARK_HEIGHT + 2}",
            preserveAspectRatio="none",
            role="img",
            aria_label=f"{label}: at most {amount(top if values else 0)}",
        ),
        e("figcaption", f"{label}: ≤ {amount(max(values, default=0))}"),
        class_="spark",
    )
