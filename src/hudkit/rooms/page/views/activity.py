"""What an agent did, what it was refused, and what it answered word for word."""

from __future__ import annotations

import json

from hudkit.compose.formats.html.hast import Element
from hudkit.rooms.page.pulse import Answer
from hudkit.rooms.page.views.scene import Scene, clock, dollars, seconds
from hudkit.rooms.world import AgentState, RecentAction
from hudkit.web.elements import classes, e

SHOWN = 12
"""Answers that are shown."""


def activity(scene: Scene, agent: AgentState) -> Element:
    answers = scene.pulse.of(agent.id)[-SHOWN:]
    return e(
        "section",
        e("h3", "Recent actions"),
        e("ol", [_action(done) for done in reversed(agent.recent)], class_="actions")
        if agent.recent
        else e("p", "None yet.", class_="empty"),
        e("h3", "Answers"),
        [_answer(scene, agent, one) for one in reversed(answers)] or e("p", "None yet.", class_="empty"),
        class_="activity",
    )


def _action(done: RecentAction) -> Element:
    arguments = ", ".join(f"{name}: {_said(value)}" for name, value in done.action.items() if name != "type")
    return e(
        "li",
        clock(done.happened_at, seconds=True),
        e(
            "span",
            e("b", str(done.action.get("type", "its answer"))),
            f" {arguments}",
            e("span", f"refused: {done.why}", class_="why") if done.why else None,
        ),
        class_=classes(bool(done.why) and "refused"),
    )


def _answer(scene: Scene, agent: AgentState, one: Answer) -> Element:
    figures = (
        f"HUD {one.tokens:,} tokens",
        f"{one.input_tokens:,} in, {one.output_tokens:,} out" if one.input_tokens or one.output_tokens else "",
        dollars(one.cost) if one.cost else "",
        seconds(one.seconds * 1000) if one.seconds else "",
        f"{seconds(one.late)} late" if one.late >= 100 else "",
    )
    said = one.error or one.text or ("nothing" if one.over else "…")
    return e(
        "details",
        e(
            "summary",
            e("span", f"Beat {one.number}", class_="grow"),
            e("span", "error", class_="badge error") if one.error else None,
            clock(one.at, seconds=True),
        ),
        e("p", " · ".join(text for text in figures if text), class_="hint"),
        e("pre", said, class_="fault" if one.error else None),
        e(
            "p",
            e("a", "The world at this beat", href=scene.look.url(at=one.seq, when="beat", tab="hud")),
            class_="hint",
        ),
        class_="answer",
        id=f"answer-{agent.id}-{one.number}",
    )


def _said(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
