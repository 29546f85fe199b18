"""The forms that make, change and retire an agent."""

from __future__ import annotations

from hudkit.compose.formats.html.hast import Element
from hudkit.rooms.page.views.scene import Scene, button, choice, field, form, hidden, one_of
from hudkit.rooms.world import AgentState
from hudkit.web.elements import e

_KINDS = (("persona", "Persona: someone, with a character"), ("bot", "Bot: something, with a task"))
_INPUTS = (("json", "JSON"), ("compact", "compact JSON"), ("toon", "TOON"))
_OUTPUTS = (("json", "JSON"), ("toon", "TOON"))


def new_agent(scene: Scene) -> Element:
    world = scene.world
    tempo = world.rules.tempo
    rooms = [("0", "only its own")] + [
        (str(agent.id), f"{agent.name}’s room") for agent in world.agents.values() if not agent.retired
    ]
    return e(
        "section",
        e("h2", "A new agent"),
        form(
            scene,
            "make",
            field("Kind", choice("kind", _KINDS, "persona")),
            field(
                "Name",
                e("input", name="name", maxlength=world.rules.caps.name, autocomplete="off"),
                "A bot may have none",
            ),
            _background(scene, "", "Who it is, or what it is for"),
            _model(scene, _usual(scene)),
            field("Also in", one_of("room", rooms, str(scene.look.room))),
            field(
                "Seconds between beats",
                e(
                    "input",
                    type="number",
                    name="interval",
                    min=tempo.min_interval,
                    max=tempo.max_interval,
                    step="0.1",
                    value=f"{tempo.first:g}",
                ),
            ),
            field("It sees", choice("input_format", _INPUTS, "json")),
            field("It answers in", choice("output_format", _OUTPUTS, "json")),
            _creates(False),
            e(
                "div",
                button("Make it", class_="strong"),
                e("a", "Not now", href=scene.look.url(new=False), class_="button quiet"),
                class_="line",
            ),
            class_="stack",
        ),
        class_="edit",
    )


def edit_agent(scene: Scene, agent: AgentState) -> Element:
    if agent.retired:
        return e("section", e("p", "It is retired: it stays as it is.", class_="empty"), class_="edit")
    tempo = scene.world.rules.tempo
    return e(
        "section",
        form(
            scene,
            "alter",
            hidden("agent", agent.id),
            field("Name", e("input", name="name", value=agent.name, maxlength=scene.world.rules.caps.name)),
            _background(scene, agent.background, "Seed" if agent.kind == "persona" else "Role"),
            _model(scene, agent.model),
            field("It sees", choice("input_format", _INPUTS, agent.input_format)),
            field("It answers in", choice("output_format", _OUTPUTS, agent.output_format)),
            _creates(agent.can_create),
            button("Save", class_="strong"),
            class_="stack",
            id=f"alter-{agent.id}",
        ),
        form(
            scene,
            "tempo",
            hidden("agent", agent.id),
            e(
                "label",
                e("span", "Seconds between beats", class_="label"),
                e(
                    "input",
                    type="number",
                    name="interval",
                    min=tempo.min_interval,
                    max=tempo.max_interval,
                    step="0.1",
                    value=f"{agent.interval:g}",
                ),
                class_="field",
            ),
            button("Set"),
            class_="line foot",
            id=f"tempo-of-{agent.id}",
        ),
        e(
            "details",
            e("summary", "Retire"),
            e("p", "It has no more beats, and its room is closed. This cannot be taken back."),
            form(scene, "retire", hidden("agent", agent.id), button(f"Retire {agent.name}", class_="danger")),
            id=f"retire-{agent.id}",
        ),
        class_="edit",
    )


def _background(scene: Scene, text: str, label: str) -> Element:
    most = scene.world.rules.caps.message
    return field(label, e("textarea", text, name="background", rows=5, maxlength=most, required=True))


def _model(scene: Scene, model: str) -> Element:
    names = scene.desk.models
    if not names:
        return field("Model", e("input", name="model", value=model, required=True, maxlength=200))
    options = [(name, name) for name in dict.fromkeys((*names, model)) if name]
    return field("Model", choice("model", options, model))


def _usual(scene: Scene) -> str:
    """The model that the youngest agent has."""
    newest = max(scene.world.agents.values(), key=lambda agent: agent.id, default=None)
    return newest.model if newest is not None else next(iter(scene.desk.models), "")


def _creates(checked: bool) -> Element:
    return e(
        "label",
        e("input", type="checkbox", name="can_create", value="true", checked=checked),
        e("span", "It may make, alter and retire agents"),
        class_="check",
    )
