"""What an agent sees, byte for byte, with what each part of it costs and what was left out."""

from __future__ import annotations

from hudkit.compose.formats.html import to_hast
from hudkit.compose.formats.html.hast import Element, Text
from hudkit.compose.formats.markdown import parse
from hudkit.errors import HudkitError
from hudkit.rooms.hud import AgentHud, HudSection, as_markdown
from hudkit.rooms.page.views.scene import Scene
from hudkit.rooms.world import AgentState, World
from hudkit.web.elements import Child, classes, e

_FORMATS = (("json", "JSON"), ("compact", "Compact"), ("toon", "TOON"), ("markdown", "Readable"))
_WIDTH = 1000
_NOW = ("What it would see at this moment.", "What it would have seen at that moment.")
_READABLE = {"h1": "h3", "h2": "h4", "h3": "h5", "h4": "h5"}
"""Headings of a HUD below those of the page."""


def hud_part(scene: Scene, agent: AgentState) -> Element:
    look = scene.look
    format = look.format or agent.input_format
    try:
        seen, note = _seen(scene, agent)
    except HudkitError as error:
        return e("section", e("p", f"There is no HUD: {error}", class_="fault"), class_="hud")
    return e(
        "section",
        e(
            "div",
            _switch("When", [("now", "Now"), ("beat", "Last beat")], look.when, scene, "when"),
            _switch("Format", _FORMATS, format, scene, "format"),
            class_="switches",
        ),
        e("p", note, class_="hint"),
        _bars(scene, seen),
        _left_out(seen),
        e(
            "div" if format == "markdown" else "pre",
            _readable(seen) if format == "markdown" else seen.text,
            class_=classes("sees", format == "markdown" and "readable"),
            tabindex="0",
            role="region",
            aria_label="What the agent sees",
            id="sees",
        ),
        class_="hud",
    )


def _readable(seen: AgentHud) -> list[Element | Text]:
    """The HUD for people, through its Markdown. Links would be what somebody wrote: they stay words."""
    return list(map(_unlinked, to_hast(parse(as_markdown(seen))).children))


def _unlinked(node: Element | Text) -> Element | Text:
    if isinstance(node, Text):
        return node
    tag = "span" if node.tag == "a" else _READABLE.get(node.tag, node.tag)
    return Element(tag, (), tuple(map(_unlinked, node.children)))


def _seen(scene: Scene, agent: AgentState) -> tuple[AgentHud, Child]:
    """The HUD that is asked for, and what is to be said about it."""
    world, look = scene.world, scene.look
    format = None if look.format in ("", "markdown", agent.input_format) else look.format
    own = "" if format is None else f" It gets {agent.input_format}; this is another notation."
    if look.when == "now":
        return _composed(scene, world, agent, scene.now, format), f"{_NOW[scene.past]}{own}"
    last = next((one for one in reversed(scene.pulse.of(agent.id))), None)
    if last is None or last.seq < 2:
        return _composed(scene, world, agent, scene.now, format), f"It had no beat that is still at hand.{own}"
    before = scene.desk.past(last.seq - 1).world
    seen = _composed(scene, before, before.agents[agent.id], last.at, format)
    if format is not None:
        return seen, f"Beat {last.number}, event {last.seq:,}.{own}"
    same = "the same bytes as the log recorded" if seen.digest == last.digest else "not what the log recorded"
    return seen, e("span", f"Beat {last.number}, event {last.seq:,}: ", e("b", same), f" ({last.digest[:12]}).")


def _composed(scene: Scene, world: World, agent: AgentState, now: int, format: str | None) -> AgentHud:
    match format:
        case "json" | "compact" | "toon":
            return scene.desk.seen(world, agent.id, now, format)
        case _:
            return scene.desk.seen(world, agent.id, now)


def _switch(
    label: str, options: list[tuple[str, str]] | tuple[tuple[str, str], ...], chosen: str, scene: Scene, name: str
) -> Element:
    return e(
        "span",
        [
            e(
                "a",
                text,
                href=scene.look.url(**{name: value, "view": "agent"}),
                aria_current="true" if value == chosen else None,
            )
            for value, text in options
        ],
        class_="switch",
        role="group",
        aria_label=label,
    )


def _bars(scene: Scene, seen: AgentHud) -> Element:
    """All of the budget as one bar, and each part with its tokens."""
    parts = [one for one in seen.sections if one.room is None and one.name != "rooms"]
    rooms = [one for one in seen.sections if one.room is not None]
    around = [one for one in seen.sections if one.name == "rooms"]
    x = 0.0
    pieces = []
    for number, one in enumerate([*parts, *around, *rooms]):
        width = one.tokens * _WIDTH / seen.limit
        style = f"part part-{_style(number, one)}"
        title = e("title", f"{_label(scene, one)}: {one.tokens:,} tokens")
        pieces.append(
            e("rect", title, x=f"{x:.2f}", y=0, width=f"{max(width - 1.5, 0.5):.2f}", height=10, class_=style)
        )
        x += width
    return e(
        "div",
        e(
            "p",
            e("b", f"{seen.tokens:,}"),
            f" of {seen.limit:,} tokens · {seen.tokens * 100 // seen.limit}%",
            class_="total",
        ),
        e(
            "svg",
            pieces,
            viewBox=f"0 0 {_WIDTH} 10",
            preserveAspectRatio="none",
            class_="bar whole",
            role="img",
            aria_label=f"{seen.tokens} of {seen.limit} tokens",
        ),
        e(
            "table",
            e("tbody", [_row(scene, number, one) for number, one in enumerate(parts)]),
            e("tbody", [_row(scene, len(parts) + number, one) for number, one in enumerate(rooms)]),
            class_="parts",
        ),
        class_="bars",
    )


def _row(scene: Scene, number: int, one: HudSection) -> Element:
    share = ""
    fill: Element | None = None
    if one.room is not None:
        share = f"{one.share:.0f}% · {one.shown} of {one.visible}"
        full = one.tokens / one.limit if one.limit else 0.0
        fill = e(
            "svg",
            e("rect", x=0, y=0, width=_WIDTH, height=10, class_="rest"),
            e(
                "rect",
                x=0,
                y=0,
                width=f"{min(1.0, full) * _WIDTH:.1f}",
                height=10,
                class_=f"part part-{_style(number, one)}",
            ),
            viewBox=f"0 0 {_WIDTH} 10",
            preserveAspectRatio="none",
            class_="bar",
            aria_hidden="true",
        )
    return e(
        "tr",
        e("th", e("span", class_=f"key part-{_style(number, one)}"), _label(scene, one), scope="row"),
        e("td", fill, class_="fill"),
        e("td", share, title="share of attention · messages shown of those it may see" if share else None),
        e("td", f"{one.tokens:,}", class_="number"),
    )


def _style(number: int, one: HudSection) -> str:
    return f"room-{(one.room or 0) * 5 % 12}" if one.room is not None else str(number % 6)


def _label(scene: Scene, one: HudSection) -> str:
    if one.room is None:
        return one.name.replace("_", " ")
    return f"{scene.name(one.room)}’s room"


def _left_out(seen: AgentHud) -> Element | None:
    if not seen.omitted:
        return None
    lines = [e("li", f"{one.count:,} {one.what} of {one.section}: {one.why}") for one in seen.omitted]
    return e(
        "details",
        e("summary", f"Left out: {sum(one.count for one in seen.omitted):,}"),
        e("ul", lines),
        class_="omitted",
        id="omitted",
    )
