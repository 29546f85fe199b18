"""The right column: one agent, as it is and as it sees the world; or a form that makes one.

Four tabs: its HUD byte for byte with what each part of it costs, what it wrote down, what it did and answered,
and the form that changes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from hudkit.compose.formats.html.hast import HtmlElement, HtmlText
from hudkit.errors import HudkitError
from hudkit.rooms.actions.agent_actions import knowledge_tokens
from hudkit.rooms.hud import AgentHud, HudSection, as_markdown
from hudkit.rooms.page.metrics import BeatRecord
from hudkit.rooms.page.side_pages import side_link
from hudkit.rooms.page.url_state import AgentTab
from hudkit.rooms.page.widgets import (
    PageData,
    agent_status,
    button,
    choice,
    face,
    field,
    form,
    hidden,
    plain_text,
    select_or_number,
    sparkline,
)
from hudkit.rooms.players import IMPROVISER_LABEL, IMPROVISER_MODEL
from hudkit.rooms.players.closing import CLOSING_REVISION, closing_words
from hudkit.rooms.world import SILENT_BEATS, AgentState, RecentAction, World
from hudkit.web.elements import Child, classes, e
from hudkit.web.page_text import clock, dollars, duration
from hudkit.web.readable_markdown import readable_markdown

_TABS: tuple[tuple[AgentTab, str], ...] = (
    ("hud", "HUD"),
    ("memory", "Memory"),
    ("activity", "Activity"),
    ("edit", "Edit"),
)

_NOTATIONS = (("", "Readable"), ("json", "JSON"), ("compact", "Compact"), ("toon", "TOON"))
_BAR_WIDTH = 1000
"""Of the pictures of bars, in units of their own: they are stretched to the column."""
_NOW_NOTES = ("What it would see at this moment.", "What it would have seen at that moment.")
_ANSWERS = 12
"""Answers that are shown."""

_KINDS = (("persona", "Persona: someone, with a character"), ("bot", "Bot: something, with a task"))
_INPUTS = (("json", "JSON"), ("compact", "compact JSON"), ("toon", "TOON"))
_OUTPUTS = (("json", "JSON"), ("toon", "TOON"))


def agent_column(page: PageData) -> HtmlElement:
    """Return the agent that is looked at, or the form that makes one."""
    agent = page.agent
    inner: Child
    if page.url.new and not page.past:
        inner = _new_agent(page)
    elif agent is None:
        inner = e("p", "Choose an agent, and see what it sees.", class_="empty")
    else:
        inner = (_card(page, agent), _tabs(page), _part(page, agent))
    return e("aside", inner, class_="column right", id="right", tabindex="-1", aria_label="Agent")


def _card(page: PageData, agent: AgentState) -> HtmlElement:
    style, words = agent_status(page, agent)
    beats = page.metrics.beats_of(agent.id)
    gaps = [round((later.composed_at - earlier.composed_at) / 1000, 2) for earlier, later in pairwise(beats)]
    facts = (
        ("next beat", words),
        ("tempo", f"{agent.interval:g} s"),
        ("beats", f"{agent.beats:,}"),
        ("tokens in / out", f"{agent.tokens_in:,} / {agent.tokens_out:,}"),
        ("cost", dollars(agent.cost)),
        ("sees / answers", f"{agent.input_format} / {agent.output_format}"),
    )
    maker = page.name(agent.by) + (f" ({agent.by})" if agent.by else "")
    model = IMPROVISER_LABEL if agent.model == IMPROVISER_MODEL else agent.model
    return e(
        "section",
        e(
            "div",
            face(page, agent.id),
            e(
                "div",
                e("h2", agent.name, " ", e("small", str(agent.id))),
                e("p", f"{agent.kind} · {model}", title=f"{model}, made by {maker}"),
                class_="grow",
            ),
            None if page.past or agent.retired else _wake_and_step(page, agent),
            class_="line",
        ),
        e("dl", [e("div", e("dt", label), e("dd", value)) for label, value in facts], class_="facts"),
        sparkline("seconds between its last beats", gaps) if len(gaps) > 1 else None,
        e("p", e("b", "Last error: "), agent.last_error, class_="fault") if agent.last_error else None,
        e("p", f"It was addressed, and said and did nothing for {agent.silent_beats} beats.", class_="fault")
        if agent.silent_beats >= SILENT_BEATS
        else None,
        class_=f"agent {style}",
    )


def _wake_and_step(page: PageData, agent: AgentState) -> tuple[HtmlElement, HtmlElement]:
    nobody_plays = page.context.player is None
    id = hidden("agent", agent.id)
    return (
        form(page, "wake", id, button("Wake", title="Its next beat comes at once")),
        form(page, "step", id, button("Step", disabled=nobody_plays, title="Let it have one beat")),
    )


def _tabs(page: PageData) -> HtmlElement:
    tabs = _TABS if not page.past else _TABS[:3]  # what was cannot be edited
    return e(
        "nav",
        [
            e(
                "a",
                label,
                href=page.url.href(tab=tab, view="agent"),
                aria_current="page" if page.url.tab == tab else None,
            )
            for tab, label in tabs
        ],
        class_="tabs",
        aria_label="Agent",
    )


def _part(page: PageData, agent: AgentState) -> HtmlElement:
    match page.url.tab:
        case "memory":
            return _memory(page, agent)
        case "activity":
            return _activity(page, agent)
        case "edit" if not page.past:
            return _edit_agent(page, agent)
        case _:
            return _hud_part(page, agent)


def _hud_part(page: PageData, agent: AgentState) -> HtmlElement:
    url = page.url
    try:
        hud, note = _chosen_hud(page, agent)
    except HudkitError as error:
        return e("section", e("p", f"There is no HUD: {error}", class_="fault"), class_="hud")
    return e(
        "section",
        e(
            "div",
            _switch("When", [("now", "Now"), ("beat", "Last beat")], url.when, page, "when"),
            _switch("Format", _NOTATIONS, url.format, page, "format"),
            class_="switches",
        ),
        e(
            "p",
            note,
            " ",
            e("a", "What changed", href=side_link("/diff", agent=agent.id), hx_boost="false")
            if not page.past
            else None,
            class_="hint",
        ),
        _bars(page, hud),
        _left_out(hud),
        e(
            "pre" if url.format else "div",
            hud.text if url.format else _readable_hud(hud),
            class_=classes("sees", not url.format and "readable"),
            tabindex="0",
            role="region",
            aria_label="What the agent sees",
            id="sees",
        ),
        _closing(page, agent, hud),
        class_="hud",
    )


def _closing(page: PageData, agent: AgentState, hud: AgentHud) -> HtmlElement | None:
    """Return what a language model is told behind the HUD, where somebody waits for an answer; of a beat that was,
    only where its event says that it was told so."""
    if agent.model == IMPROVISER_MODEL:
        return None
    if page.url.when != "now":
        beats = page.metrics.beats_of(agent.id)
        if beats and beats[-1].closing != CLOSING_REVISION:
            return None
    words = closing_words(hud.document, agent.output_format)
    if not words:
        return None
    return e(
        "section", e("h3", "Behind it"), e("pre", words), class_="behind", aria_label="What is told behind the HUD"
    )


def _readable_hud(hud: AgentHud) -> list[HtmlElement | HtmlText]:
    """Return a HUD as people read it; what every agent is told alike is folded up at its end."""
    parts = readable_markdown(as_markdown(hud))
    is_heading = [isinstance(part, HtmlElement) and part.tag in ("h3", "h4") for part in parts]
    last = len(parts) - 1 - is_heading[::-1].index(True)
    heading = parts[last]
    title = heading.children if isinstance(heading, HtmlElement) else ()
    folded = e("details", e("summary", title), parts[last + 1 :], id="instructions")
    return [*parts[:last], folded]


def _chosen_hud(page: PageData, agent: AgentState) -> tuple[AgentHud, Child]:
    """Return the HUD that is asked for, and what is to be said about it."""
    world, url = page.world, page.url
    format = None if url.format in ("", agent.input_format) else url.format
    other = "another notation" if url.format else "for people to read"
    own = "" if url.format == agent.input_format else f" It gets {agent.input_format}; this is {other}."
    if url.when == "now":
        return _composed(page, world, agent, page.now, format), f"{_NOW_NOTES[page.past]}{own}"
    beats = page.metrics.beats_of(agent.id)
    last = beats[-1] if beats else None
    if last is None or last.seq < 2:
        return _composed(page, world, agent, page.now, format), f"It had no beat that is still at hand.{own}"
    # The HUD was composed before its beat was recorded, so from the world as of the event before.
    before = page.context.past(last.seq - 1).world
    hud = _composed(page, before, before.agents[agent.id], last.composed_at, format)
    if format is not None:
        return hud, f"Beat {last.number}, event {last.seq:,}.{own}"
    same = "the same bytes as the log recorded" if hud.digest == last.digest else "not what the log recorded"
    return hud, e("span", f"Beat {last.number}, event {last.seq:,}: ", e("b", same), f" ({last.digest[:12]}).")


def _composed(page: PageData, world: World, agent: AgentState, now: int, format: str | None) -> AgentHud:
    match format:
        case "json" | "compact" | "toon":
            return page.context.agent_hud(world, agent.id, now, format)
        case _:
            return page.context.agent_hud(world, agent.id, now)


def _switch(
    label: str, options: list[tuple[str, str]] | tuple[tuple[str, str], ...], chosen: str, page: PageData, name: str
) -> HtmlElement:
    return e(
        "span",
        [
            e(
                "a",
                text,
                href=page.url.href(**{name: value, "view": "agent"}),
                aria_current="true" if value == chosen else None,
            )
            for value, text in options
        ],
        class_="switch",
        role="group",
        aria_label=label,
    )


def _bars(page: PageData, hud: AgentHud) -> HtmlElement:
    """Return all of the budget as one bar, and each part with its tokens."""
    parts = [section for section in hud.sections if section.room is None and section.name != "rooms"]
    rooms = [section for section in hud.sections if section.room is not None]
    around = [section for section in hud.sections if section.name == "rooms"]
    x = 0.0
    pieces = []
    for number, section in enumerate([*parts, *around, *rooms]):
        width = section.tokens * _BAR_WIDTH / hud.limit
        style = f"part part-{_part_style(number, section)}"
        title = e("title", f"{_section_label(page, section)}: {section.tokens:,} tokens")
        pieces.append(
            e("rect", title, x=f"{x:.2f}", y=0, width=f"{max(width - 1.5, 0.5):.2f}", height=10, class_=style)
        )
        x += width
    return e(
        "div",
        e(
            "p",
            e("b", f"{hud.tokens:,}"),
            f" of {hud.limit:,} tokens · {hud.tokens * 100 // hud.limit}%",
            class_="total",
        ),
        e(
            "svg",
            pieces,
            viewBox=f"0 0 {_BAR_WIDTH} 10",
            preserveAspectRatio="none",
            class_="bar whole",
            role="img",
            aria_label=f"{hud.tokens} of {hud.limit} tokens",
        ),
        e(
            "table",
            e("tbody", [_row(page, number, section) for number, section in enumerate(parts)]),
            e("tbody", [_row(page, len(parts) + number, section) for number, section in enumerate(rooms)]),
            class_="parts",
        ),
        class_="bars",
    )


def _row(page: PageData, number: int, section: HudSection) -> HtmlElement:
    colour = e("span", class_=f"key part-{_part_style(number, section)}")
    share = ""
    fill: HtmlElement | None = None
    if section.room is not None:
        share = f"{section.share:.0f}% · {section.shown} of {section.visible}"
        full = section.tokens / section.limit if section.limit else 0.0
        fill = e(
            "svg",
            e("rect", x=0, y=0, width=_BAR_WIDTH, height=10, class_="rest"),
            e(
                "rect",
                x=0,
                y=0,
                width=f"{min(1.0, full) * _BAR_WIDTH:.1f}",
                height=10,
                class_=f"part part-{_part_style(number, section)}",
            ),
            viewBox=f"0 0 {_BAR_WIDTH} 10",
            preserveAspectRatio="none",
            class_="bar",
            aria_hidden="true",
        )
    return e(
        "tr",
        e("th", colour, _section_label(page, section), scope="row"),
        e("td", fill, class_="fill"),
        e("td", share, title="share of attention · messages shown of those it may see" if share else None),
        e("td", f"{section.tokens:,}", class_="number"),
    )


def _part_style(number: int, section: HudSection) -> str:
    # A room has the colour of its owner's face.
    return f"room-{(section.room or 0) * 5 % 12}" if section.room is not None else str(number % 6)


def _section_label(page: PageData, section: HudSection) -> str:
    if section.room is None:
        return section.name.replace("_", " ")
    return f"{page.name(section.room)}’s room"


def _left_out(hud: AgentHud) -> HtmlElement | None:
    if not hud.omitted:
        return None
    lines = [
        e("li", f"{omission.count:,} {omission.what} of {omission.section}: {omission.why}")
        for omission in hud.omitted
    ]
    return e(
        "details",
        e("summary", f"Left out: {sum(item.count for item in hud.omitted):,}"),
        e("ul", lines),
        class_="omitted",
        id="omitted",
    )


def _memory(page: PageData, agent: AgentState) -> HtmlElement:
    used, limit = knowledge_tokens(agent.knowledge), page.world.rules.tokens.knowledge
    bar = e(
        "svg",
        e("rect", x=0, y=0, width=1000, height=10, class_="rest"),
        e("rect", x=0, y=0, width=f"{min(1.0, used / limit) * 1000:.1f}", height=10, class_="part part-3"),
        viewBox="0 0 1000 10",
        preserveAspectRatio="none",
        class_="bar whole",
        aria_hidden="true",
    )
    return e(
        "section",
        e("p", e("b", f"{used:,}"), f" of {limit:,} tokens · {used * 100 // limit}%", class_="total"),
        bar,
        _tree(agent.knowledge, agent.weights, "")
        if agent.knowledge
        else e("p", "It wrote nothing down yet.", class_="empty"),
        class_="memory",
    )


def _tree(value: Mapping[str, Any], weights: Mapping[str, float], path: str) -> HtmlElement:
    return e("ul", [_entry(name, inner, weights, f"{path}{name}") for name, inner in value.items()], class_="tree")


def _entry(name: str, value: Any, weights: Mapping[str, float], path: str) -> HtmlElement:
    weight = e("small", f" {weights[path]:g}", class_="badge", title="its weight") if path in weights else None
    inner: Child
    if isinstance(value, Mapping) and value:
        inner = _tree(value, weights, f"{path}.")
    elif isinstance(value, list) and value:
        inner = e("ul", [e("li", plain_text(item)) for item in value])
    else:
        inner = e("span", plain_text(value))
    return e("li", e("b", name), weight, " ", inner)


def _activity(page: PageData, agent: AgentState) -> HtmlElement:
    beats = page.metrics.beats_of(agent.id)[-_ANSWERS:]
    return e(
        "section",
        e("h3", "Recent actions"),
        e("ol", [_action(action) for action in reversed(agent.recent)], class_="actions")
        if agent.recent
        else e("p", "None yet.", class_="empty"),
        e("h3", "Answers"),
        [_answer(page, agent, beat) for beat in reversed(beats)] or e("p", "None yet.", class_="empty"),
        class_="activity",
    )


def _action(action: RecentAction) -> HtmlElement:
    arguments = ", ".join(f"{name}: {plain_text(value)}" for name, value in action.action.items() if name != "type")
    return e(
        "li",
        clock(action.happened_at, seconds=True),
        e(
            "span",
            e("b", str(action.action.get("type", "its answer"))),
            f" {arguments}",
            e("span", f"refused: {action.why}", class_="why") if action.why else None,
        ),
        class_=classes(bool(action.why) and "refused"),
    )


def _answer(page: PageData, agent: AgentState, beat: BeatRecord) -> HtmlElement:
    figures = (
        f"HUD {beat.tokens:,} tokens",
        f"{beat.input_tokens:,} in, {beat.output_tokens:,} out" if beat.input_tokens or beat.output_tokens else "",
        dollars(beat.cost) if beat.cost else "",
        duration(beat.seconds * 1000) if beat.seconds else "",
        f"{duration(beat.late)} late" if beat.late >= 100 else "",
    )
    reply = beat.error or beat.text or ("nothing" if beat.finished else "…")
    return e(
        "details",
        e(
            "summary",
            e("span", f"Beat {beat.number}", class_="grow"),
            e("span", "error", class_="badge error") if beat.error else None,
            clock(beat.composed_at, seconds=True),
        ),
        e("p", " · ".join(text for text in figures if text), class_="hint"),
        e("pre", reply, class_="fault" if beat.error else None),
        e(
            "p",
            e("a", "The world at this beat", href=page.url.href(seq=beat.seq, when="beat", tab="hud")),
            " · ",
            e(
                "a",
                "What changed in its HUD",
                href=side_link("/diff", agent=agent.id, b=beat.number),
                hx_boost="false",
            ),
            class_="hint",
        ),
        class_="answer",
        id=f"answer-{agent.id}-{beat.number}",
    )


def _new_agent(page: PageData) -> HtmlElement:
    world = page.world
    rooms = [("0", "only its own")] + [
        (str(agent.id), f"{agent.name}’s room") for agent in world.agents.values() if not agent.retired
    ]
    return e(
        "section",
        e("h2", "A new agent"),
        form(
            page,
            "make",
            field("Kind", choice("kind", _KINDS, "persona")),
            field(
                "Name",
                e("input", name="name", maxlength=world.rules.caps.name, autocomplete="off"),
                "A bot may have none",
            ),
            _background(page, "", "Who it is, or what it is for"),
            _model(page, _usual_model(page)),
            field("Also in", select_or_number("room", rooms, str(page.url.room))),
            _interval(page, world.rules.tempo.first),
            field("It sees", choice("input_format", _INPUTS, "json")),
            field("It answers in", choice("output_format", _OUTPUTS, "json")),
            _can_create_box(False),
            e(
                "div",
                button("Make it", class_="strong"),
                e("a", "Not now", href=page.url.href(new=False), class_="button quiet"),
                class_="line",
            ),
            class_="stack",
        ),
        class_="edit",
    )


def _edit_agent(page: PageData, agent: AgentState) -> HtmlElement:
    if agent.retired:
        return e("section", e("p", "It is retired: it stays as it is.", class_="empty"), class_="edit")
    return e(
        "section",
        form(
            page,
            "alter",
            hidden("agent", agent.id),
            field("Name", e("input", name="name", value=agent.name, maxlength=page.world.rules.caps.name)),
            _background(page, agent.background, "Seed" if agent.kind == "persona" else "Role"),
            _model(page, agent.model),
            field("It sees", choice("input_format", _INPUTS, agent.input_format)),
            field("It answers in", choice("output_format", _OUTPUTS, agent.output_format)),
            _can_create_box(agent.can_create),
            button("Save", class_="strong"),
            class_="stack",
            id=f"alter-{agent.id}",
        ),
        form(
            page,
            "tempo",
            hidden("agent", agent.id),
            _interval(page, agent.interval),
            button("Set"),
            class_="line foot",
            id=f"tempo-of-{agent.id}",
        ),
        e(
            "details",
            e("summary", "Retire"),
            e("p", "It has no more beats, and its room is closed. This cannot be taken back."),
            form(page, "retire", hidden("agent", agent.id), button(f"Retire {agent.name}", class_="danger")),
            id=f"retire-{agent.id}",
        ),
        class_="edit",
    )


def _interval(page: PageData, seconds: float) -> HtmlElement:
    tempo = page.world.rules.tempo
    control = e(
        "input",
        type="number",
        name="interval",
        min=tempo.min_interval,
        max=tempo.max_interval,
        step="0.1",
        value=f"{seconds:g}",
    )
    return field("Seconds between beats", control)


def _background(page: PageData, text: str, label: str) -> HtmlElement:
    limit = page.world.rules.caps.message
    return field(label, e("textarea", text, name="background", rows=5, maxlength=limit, required=True))


def _model(page: PageData, model: str) -> list[HtmlElement]:
    """Return the field for a model, into which any name may be written, and the known ones with their prices."""
    prices = dict(page.context.models)
    for agent in page.world.agents.values():
        prices.setdefault(agent.model, "")
    control = e("input", name="model", value=model, required=True, maxlength=200, list="models", autocomplete="off")
    rows = [
        e("tr", e("th", e("code", name), scope="row"), e("td", price or "no list price known"))
        for name, price in prices.items()
    ]
    return [
        field("Model", control, "Its provider’s key must be in this server’s environment"),
        e("datalist", [e("option", f"{name} {price}", value=name) for name, price in prices.items()], id="models"),
        e(
            "details",
            e("summary", "Models and their prices"),
            e("table", e("tbody", rows), class_="list"),
            class_="prices",
            id="prices",
        ),
    ]


def _usual_model(page: PageData) -> str:
    """Return the model that the youngest agent has."""
    newest = max(page.world.agents.values(), key=lambda agent: agent.id, default=None)
    return newest.model if newest is not None else IMPROVISER_MODEL


def _can_create_box(checked: bool) -> HtmlElement:
    return e(
        "label",
        e("input", type="checkbox", name="can_create", value="true", checked=checked),
        e("span", "It may make, alter and retire agents"),
        class_="check",
    )
