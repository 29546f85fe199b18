"""Who is named in a message: `@Name` or `@8`."""

from __future__ import annotations

from hudkit.rooms.world import World

_LONGEST = 500  # characters behind an @ that can be a name


def mentioned(world: World, room: int, content: str) -> tuple[int, ...]:
    """The agents of a room that a message names, each once, in the order of their names in it. Of names that begin
    alike the longest counts; case does not."""
    if "@" not in content:
        return ()
    names = _names(world, room)
    folded = content.casefold()
    found: dict[int, None] = {}
    place = folded.find("@")
    while place >= 0:
        if not folded[max(0, place - 1) : place].isalnum():  # no address of mail
            rest = folded[place + 1 : place + 1 + _LONGEST]
            for name, id in names:
                if rest.startswith(name) and not rest[len(name) : len(name) + 1].isalnum():
                    found[id] = None
                    break
        place = folded.find("@", place + 1)
    return tuple(found)


def _names(world: World, room: int) -> list[tuple[str, int]]:
    agents = [world.agents[id] for id in world.rooms[room].members if id in world.agents]
    names = [(agent.name.casefold(), agent.id) for agent in agents] + [(str(agent.id), agent.id) for agent in agents]
    return sorted(names, key=lambda one: -len(one[0]))
