"""What the Architect sets in a room: who is in it, its billboard and pace, keys and requests."""

from __future__ import annotations

from hudkit.compose.formats.html.hast import Element
from hudkit.rooms.page.views.scene import Scene, button, clock, face, field, form, hidden, many, one_of
from hudkit.rooms.world import AccessRequest, RoomKey, RoomState
from hudkit.rooms.world_events import ARCHITECT
from hudkit.web.elements import e


def room_settings(scene: Scene, room: RoomState) -> Element:
    open_ = bool(room.requests)
    return e(
        "details",
        e(
            "summary",
            e("span", [face(scene, id, small=True) for id in room.members[:5]], class_="faces"),
            e("span", "Members, keys", e("b", f" · {many(len(room.requests), 'request')}") if open_ else None),
            class_="button quiet",
        ),
        e(
            "div",
            _requests(scene, room) if open_ else None,
            _members(scene, room),
            _keys(scene, room),
            None if scene.past else _setting(scene, room),
            class_="panel",
        ),
        class_="settings",
        id=f"settings-{room.id}",
    )


def _requests(scene: Scene, room: RoomState) -> Element:
    def one(request: AccessRequest) -> Element:
        answer = None
        if not scene.past:
            answer = (
                form(scene, "grant", hidden("request", request.id), button("Let in", class_="strong")),
                form(scene, "deny", hidden("request", request.id), button("Deny")),
            )
        text = f"{scene.name(request.agent)} ({request.agent}) with the key {request.label!r}, "
        return e("li", e("span", text, clock(request.requested_at), class_="grow"), answer)

    return e("section", e("h3", "Requests"), e("ul", [one(scene.world.requests[id]) for id in room.requests]))


def _members(scene: Scene, room: RoomState) -> Element:
    def one(id: int) -> Element:
        away = None
        if not scene.past and id != room.id:
            remove = button("Remove", class_="quiet", aria_label=f"Remove {scene.name(id)}")
            away = form(scene, "remove", hidden("room", room.id), hidden("agent", id), remove)
        owner = e("small", " owner") if id == room.id else None
        return e("li", face(scene, id, small=True), e("span", scene.name(id), owner, class_="grow"), away)

    others = [
        (str(agent.id), f"{agent.name} ({agent.id})")
        for agent in scene.world.agents.values()
        if not agent.retired and agent.id not in room.members
    ]
    if ARCHITECT not in room.members:
        others.insert(0, ("0", "The Architect"))
    letting = None
    if others and not scene.past and not scene.world.agents[room.id].retired:
        letting = form(
            scene,
            "admit",
            hidden("room", room.id),
            e("label", e("span", "Let in", class_="label hide"), one_of("agent", others, others[0][0])),
            button("Let in"),
            class_="line",
        )
    return e("section", e("h3", "Members"), e("ul", [one(id) for id in room.members]), letting)


def _keys(scene: Scene, room: RoomState) -> Element:
    def one(key: RoomKey) -> Element:
        uses = many(key.uses, "use") + " left" if key.uses else "any number of uses"
        away = None
        if not scene.past:
            revoke = button("Revoke it for good", class_="danger", aria_label=f"Revoke {key.label} for good")
            away = e(
                "details",
                e("summary", "Revoke", class_="button quiet", aria_label=f"Revoke {key.label}"),
                form(scene, "revoke", hidden("room", room.id), hidden("label", key.label), revoke),
                id=f"revoke-{room.id}-{key.label}",
                class_="sure",
            )
        return e("li", e("span", e("code", key.label), e("small", f" {uses}"), class_="grow"), away)

    making = None
    if not scene.past:
        making = form(
            scene,
            "key",
            hidden("room", room.id),
            field("A new key’s label", e("input", name="label", required=True, maxlength=50, autocomplete="off")),
            field("Uses (0: any)", e("input", type="number", name="uses", min=0, max=1000, value="0")),
            button("Make a key"),
            class_="making",
        )
    return e("section", e("h3", "Keys"), e("ul", [one(key) for key in room.keys]) if room.keys else None, making)


def _setting(scene: Scene, room: RoomState) -> Element:
    words = scene.world.rules.words
    return e(
        "section",
        e("h3", "Room"),
        form(
            scene,
            "billboard",
            hidden("room", room.id),
            field("Billboard", e("textarea", room.billboard, name="text", rows=2, maxlength=4000)),
            button("Write"),
        ),
        form(
            scene,
            "wpm",
            hidden("room", room.id),
            field(
                "Words a minute",
                e(
                    "input",
                    type="number",
                    name="wpm",
                    min=words.min_wpm,
                    max=words.max_wpm,
                    value=room.wpm,
                    required=True,
                ),
            ),
            button("Set"),
        ),
    )
