"""The line below: every event of the world, and the way back to any of them."""

from __future__ import annotations

from hudkit.compose.formats.html.hast import Element
from hudkit.rooms.page.views.scene import Scene, clock
from hudkit.rooms.page.views.told import told
from hudkit.web.elements import e


def timeline(scene: Scene) -> Element:
    look, last = scene.look, scene.desk.world_log.world.seq
    at = look.at or last
    address = look.but(at=0).url()[2:]
    return e(
        "footer",
        _link("◂", "One event back", look.url(at=max(1, at - 1)), off=at <= 1, id="back"),
        e(
            "form",
            [e("input", type="hidden", name=name, value=value) for name, value in _pairs(address)],
            e(
                "input",
                type="range",
                name="at",
                id="at",
                min=1,
                max=last,
                value=at,
                aria_label="Event",
            ),
            e("button", "Go", type="submit", class_="button quiet scripted"),
            method="get",
            action="/",
            class_="slide",
        ),
        _link("▸", "One event forward", look.url(at=at + 1 if at + 1 < last else 0), off=not look.at, id="forward"),
        e(
            "p",
            e("b", f"{at:,}"),
            e("span", f" of {last:,} · ", class_="of"),
            clock(scene.world.now, seconds=True),
            e("span", f" · {_event(scene, at)}", class_="event"),
            class_="where",
        ),
        e(
            "a",
            "● Live",
            href=look.url(at=0),
            class_="button live",
            id="live",
            aria_current=None if look.at else "true",
        ),
        class_="timeline",
        aria_label="Time",
    )


def _link(sign: str, label: str, address: str, *, off: bool, id: str) -> Element:
    if off:
        return e("span", sign, class_="button quiet off", aria_hidden="true")
    return e("a", sign, href=address, class_="button quiet", title=label, aria_label=label, id=id)


def _pairs(query: str) -> list[tuple[str, str]]:
    return [(name, value) for name, _, value in (pair.partition("=") for pair in query.split("&")) if name]


def _event(scene: Scene, seq: int) -> str:
    """What an event was, in a few words."""
    found = next((what for _, what in scene.desk.world_log.events(seq - 1, seq)), None)
    return told(scene, found)
