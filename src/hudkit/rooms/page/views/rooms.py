"""The left column: rooms by what was said last, and agents with their next beats."""

from __future__ import annotations

from hudkit.compose.formats.html.hast import Element
from hudkit.rooms.page.views.scene import MOST, Scene, clock, excerpt, face, many, state_of
from hudkit.rooms.world import AgentState, RoomState
from hudkit.web.elements import classes, e


def rooms_column(scene: Scene) -> Element:
    """The most lively of both; those that are looked at always."""
    world, look = scene.world, scene.look
    rooms = sorted(world.rooms.values(), key=lambda room: (room.id != look.room, -_last(room)))[:MOST]
    rooms.sort(key=lambda room: room.id)
    agents = sorted(world.agents.values(), key=lambda one: (one.id != look.agent, one.retired, -one.last_beat))[:MOST]
    agents.sort(key=lambda one: (one.retired, one.id))
    return e(
        "nav",
        e("h2", "Rooms", e("span", f" {len(world.rooms):,}", class_="count")),
        e("ul", [_room(scene, room) for room in rooms], class_="rows", id="rooms"),
        e("h2", "Agents", e("span", f" {len(world.agents):,}", class_="count")),
        e("ul", [_agent(scene, agent) for agent in agents], class_="rows", id="agents"),
        None if rooms else e("p", "Nobody is here yet. Make an agent: it brings a room.", class_="empty"),
        class_="column left",
        aria_label="Rooms and agents",
        id="left",
    )


def _last(room: RoomState) -> int:
    return room.messages[-1] if room.messages else 0


def _room(scene: Scene, room: RoomState) -> Element:
    look = scene.look
    here = room.id == look.room
    last = scene.world.messages[room.messages[-1]] if room.messages else None
    seen = scene.session.read.get(room.id, 0)
    unread = 0 if here or scene.past else sum(id > seen for id in room.messages[-100:])
    closed = scene.world.agents[room.id].retired
    said = f"{scene.name(last.sender)}: {excerpt(last.content, 60)}" if last is not None else "Nothing was said yet"
    return e(
        "li",
        e(
            "a",
            face(scene, room.id),
            e(
                "span",
                e("span", f"{scene.name(room.id)}’s room", class_="name"),
                e("span", said, class_="said"),
                class_="grow",
            ),
            e(
                "span",
                clock(last.posted_at) if last is not None else None,
                e(
                    "span",
                    e("span", "closed", class_="badge") if closed else None,
                    e(
                        "span",
                        "asked",
                        class_="badge asked",
                        title=f"{many(len(room.requests), 'request')} to come in",
                    )
                    if room.requests and not closed
                    else None,
                    e("span", "99+" if unread > 99 else str(unread), class_="unread", title="not read yet")
                    if unread
                    else None,
                    class_="marks",
                ),
                class_="side",
            ),
            href=look.url(room=room.id, thread=0, reply=0, before=0, view="talk", new=False),
            aria_current="page" if here else None,
            class_=classes("row", closed and "closed"),
            title=f"{scene.name(room.id)}’s room",
        ),
        id=f"room-{room.id}",
    )


def _agent(scene: Scene, agent: AgentState) -> Element:
    look = scene.look
    style, words = state_of(scene, agent)
    return e(
        "li",
        e(
            "a",
            e("span", class_=f"dot {'error' if agent.last_error else style}", aria_hidden="true"),
            e("span", agent.name, e("small", f" {agent.id}"), class_="name grow"),
            e("span", "error", class_="badge error") if agent.last_error else None,
            e("span", words, class_="side"),
            href=look.url(agent=agent.id, view="agent", new=False, when="now"),
            aria_current="true" if agent.id == look.agent else None,
            class_=classes("row", "slim", style),
        ),
        id=f"agent-{agent.id}",
    )
