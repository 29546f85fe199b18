"""The bar above: which world, how it goes, and playing, pausing, stepping, speeding, stopping."""

from __future__ import annotations

import json

from hudkit.compose.formats.html.hast import Element
from hudkit.rooms.page.views.scene import Scene, button, choice, dollars, form, many, seconds
from hudkit.web.elements import e

_QUIET = 30_000
"""Milliseconds without any event after which it is said why nobody talks."""

_SPEEDS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0)


def top_bar(scene: Scene) -> Element:
    world = scene.world
    return e(
        "header",
        e("div", e("span", "hudkit rooms", class_="brand"), e("h1", world.name), class_="title"),
        _playing(scene) if not scene.past else e("p", "as it was", class_="playing was"),
        _figures(scene),
        e(
            "nav",
            e("a", "New agent", href=scene.look.url(new=True, view="agent"), class_="button")
            if not scene.past
            else None,
            e("a", "?", href="#keys", class_="button quiet", title="Keys", aria_label="Keys"),
            e(
                "form",
                e("input", type="hidden", name="csrf", value=scene.session.csrf),
                button("Log out", class_="quiet"),
                method="post",
                action="/logout",
            ),
            class_="menu",
            aria_label="World",
        ),
        class_="top",
    )


def _playing(scene: Scene) -> Element:
    world = scene.world
    desk = scene.desk
    alone = desk.player is None
    paused = world.paused is not None or (not alone and not desk.playing)
    if world.paused is not None:
        said = f"Paused: {world.paused or 'the Architect'}"
    elif paused:
        said = f"Stopped: {desk.fault}" if desk.fault else "Stopped"
    elif world.agents and scene.now - world.now > _QUIET * max(1.0, world.speed):
        said = "Quiet: nobody sees anything new"
    else:
        said = ""
    speeds = sorted({*_SPEEDS, world.speed})
    return e(
        "div",
        form(scene, "resume", button("▶ Play", class_="strong", id="play"))
        if paused
        else form(scene, "pause", button("❚❚ Pause", class_="strong", id="play")),
        form(scene, "step", button("Step", id="step", disabled=alone, title="Let one beat take place")),
        form(
            scene,
            "speed",
            e(
                "label",
                e("span", "Speed", class_="label hide"),
                choice("factor", [(f"{one:g}", f"{one:g} ×") for one in speeds], f"{world.speed:g}"),
            ),
            button("Set", class_="quiet scripted"),
            class_="speed",
        ),
        form(
            scene,
            "stop",
            button(
                "Stop",
                class_="danger",
                disabled=alone or not desk.playing,
                title="No beat begins any more, and those under way have no effect",
            ),
        ),
        e("span", said, class_="paused", role="status") if said else None,
        class_="playing",
    )


def _figures(scene: Scene) -> Element:
    world, pulse, now = scene.world, scene.pulse, scene.now
    times, beats, late = pulse.series(now)
    living = sum(not agent.retired for agent in world.agents.values())
    figures = (
        ("agents", f"{living:,}", many(living, "agent")),
        ("beats/min", f"{pulse.per_minute(now):,}", f"{many(world.beats, 'beat')} so far"),
        ("late", seconds(pulse.lateness(now) * 1000), "99 of 100 beats of the last minute were late at most so much"),
        ("cost", dollars(world.cost), "What the models' providers are paid, as they report it"),
    )
    return e(
        "div",
        e("dl", [e("div", e("dt", label), e("dd", value), title=title) for label, value, title in figures]),
        e(
            "div",
            e("div", class_="plot", hx_morph_skip=True),
            class_="chart pulse",
            data_chart=json.dumps([times, beats, late]),
            data_lines="beats a minute,seconds late",
            title="Beats a minute, and the latest of them, in the last ten minutes",
        ),
        class_="figures",
    )
