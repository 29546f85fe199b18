"""The right column: one agent, as it is and as it sees the world; or a form that makes one."""

from __future__ import annotations

import json
from itertools import pairwise

from hudkit.compose.formats.html.hast import Element
from hudkit.rooms.page.look import Tab
from hudkit.rooms.page.views.activity import activity
from hudkit.rooms.page.views.agent_forms import edit_agent, new_agent
from hudkit.rooms.page.views.hud import hud_part
from hudkit.rooms.page.views.memory import memory
from hudkit.rooms.page.views.scene import Scene, button, dollars, face, form, hidden, state_of
from hudkit.rooms.players import IMPROVISER_LABEL, IMPROVISER_MODEL
from hudkit.rooms.world import AgentState
from hudkit.web.elements import Child, e

_TABS: tuple[tuple[Tab, str], ...] = (
    ("hud", "HUD"),
    ("memory", "Memory"),
    ("activity", "Activity"),
    ("edit", "Edit"),
)


def agent_column(scene: Scene) -> Element:
    agent = scene.agent
    inner: Child
    if scene.look.new and not scene.past:
        inner = new_agent(scene)
    elif agent is None:
        inner = e("p", "Choose an agent, and see what it sees.", class_="empty")
    else:
        inner = (_card(scene, agent), _tabs(scene), _part(scene, agent))
    return e("aside", inner, class_="column right", id="right", tabindex="-1", aria_label="Agent")


def _card(scene: Scene, agent: AgentState) -> Element:
    style, words = state_of(scene, agent)
    beats = scene.pulse.of(agent.id)
    gaps = [round((two.at - one.at) / 1000, 2) for one, two in pairwise(beats)]
    facts = (
        ("next beat", words),
        ("tempo", f"{agent.interval:g} s"),
        ("beats", f"{agent.beats:,}"),
        ("tokens in / out", f"{agent.tokens_in:,} / {agent.tokens_out:,}"),
        ("cost", dollars(agent.cost)),
        ("sees / answers", f"{agent.input_format} / {agent.output_format}"),
    )
    made = scene.name(agent.by) + (f" ({agent.by})" if agent.by else "")
    model = IMPROVISER_LABEL if agent.model == IMPROVISER_MODEL else agent.model
    return e(
        "section",
        e(
            "div",
            face(scene, agent.id),
            e(
                "div",
                e("h2", agent.name, " ", e("small", str(agent.id))),
                e("p", f"{agent.kind} · {model}", title=f"{model}, made by {made}"),
                class_="grow",
            ),
            None
            if scene.past or agent.retired
            else (
                form(scene, "wake", hidden("agent", agent.id), button("Wake", title="Its next beat comes at once")),
                form(
                    scene,
                    "step",
                    hidden("agent", agent.id),
                    button("Step", disabled=scene.desk.player is None, title="Let it have one beat"),
                ),
            ),
            class_="line",
        ),
        e("dl", [e("div", e("dt", label), e("dd", value)) for label, value in facts], class_="facts"),
        e(
            "div",
            e("div", class_="plot", hx_morph_skip=True),
            class_="chart tempo",
            data_chart=json.dumps([list(range(1, len(gaps) + 1)), gaps]),
            data_lines="seconds between beats",
            title="Seconds between its last beats",
            id=f"tempo-{agent.id}",
        )
        if len(gaps) > 1
        else None,
        e("p", e("b", "Last error: "), agent.last_error, class_="fault") if agent.last_error else None,
        class_=f"agent {style}",
    )


def _tabs(scene: Scene) -> Element:
    tabs = _TABS if not scene.past else _TABS[:3]
    return e(
        "nav",
        [
            e(
                "a",
                label,
                href=scene.look.url(tab=tab, view="agent"),
                aria_current="page" if scene.look.tab == tab else None,
            )
            for tab, label in tabs
        ],
        class_="tabs",
        aria_label="Agent",
    )


def _part(scene: Scene, agent: AgentState) -> Element:
    match scene.look.tab:
        case "memory":
            return memory(scene, agent)
        case "activity":
            return activity(scene, agent)
        case "edit" if not scene.past:
            return edit_agent(scene, agent)
        case _:
            return hud_part(scene, agent)
