"""Making, altering and retiring agents: for the Architect, and for agents that it lets."""

from __future__ import annotations

from hashlib import blake2b
from typing import Annotated, Literal

from msgspec import Meta

from hudkit.compose import visible
from hudkit.errors import OperationError
from hudkit.rooms import events as e
from hudkit.rooms.actions.access import deny
from hudkit.rooms.actions.action import (
    Arguments,
    Id,
    Turn,
    action,
    as_said,
    called,
    checked_name,
    checked_text,
    near,
    room_of,
)
from hudkit.rooms.world import World

Model = Annotated[str, Meta(min_length=1, max_length=200)]


class Create(Arguments, frozen=True):
    name: str
    background_prompt: str
    agent_type: e.Kind = "persona"
    in_room_id: Id | None = None


class Alter(Arguments, frozen=True):
    agent_id: Id
    background_prompt: str | None = None
    name: str | None = None
    model: Model | None = None


class Retire(Arguments, frozen=True):
    agent_id: Id


@action(
    "create_agent",
    Create,
    {"name": "Ann", "background_prompt": "You like old maps.", "agent_type": "persona", "in_room_id": 8},
    gated=True,
)
def create_agent(turn: Turn, args: Create) -> None:
    """Make an agent with a room of its own; it also comes into a room of yours."""
    me, caps = turn.me, turn.world.rules.caps
    _permit(turn)
    if me.depth >= caps.depth:
        raise OperationError(f"agents that agents made make none (depth {caps.depth})")
    living = sum(agent.by == me.id and not agent.retired for agent in turn.world.agents.values())
    if living >= caps.agents_of:
        raise OperationError(f"{living} agents that you made are there", hint="Retire one first")
    room = room_of(turn, args.in_room_id or me.id)
    id = born(turn, args.agent_type, args.name, args.background_prompt, me.model, depth=me.depth + 1)
    turn.effects.append(e.Joined(room.id, id, turn.by))
    turn.say(room.id, f"{named(turn, id)} came in, made by {called(turn.world, me.id)}.")


@action("alter_agent", Alter, {"agent_id": 12, "background_prompt": "You like new maps."}, gated=True)
def alter_agent(turn: Turn, args: Alter) -> None:
    """Change another agent in one of your rooms."""
    _permit(turn)
    target = near(turn, args.agent_id)
    name = None if args.name is None else checked_name(turn.world, args.name, target.id)
    background = (
        None if args.background_prompt is None else checked_text(turn.world, args.background_prompt, "the background")
    )
    if name is None and background is None and args.model is None:
        raise OperationError("nothing is to be changed", hint="Give a name, a background_prompt or a model")
    before = called(turn.world, target.id)
    model = None if args.model is None else _checked_model(args.model)
    turn.effects.append(e.AgentAltered(target.id, turn.by, name=name, background=background, model=model))
    if name not in (None, target.name):
        turn.say(target.id, f"{before} is now called {as_said(name or '')}.")


@action("retire_agent", Retire, {"agent_id": 12}, gated=True)
def retire_agent(turn: Turn, args: Retire) -> None:
    """Retire another agent in one of your rooms: it has no more beats, and its room is closed."""
    _permit(turn)
    retire(turn, near(turn, args.agent_id).id)


def born(
    turn: Turn,
    kind: e.Kind,
    name: str,
    background: str,
    model: str,
    *,
    depth: int = 0,
    can_create: bool = False,
    input_format: e.Format = "json",
    output_format: Literal["json", "toon"] = "json",
    interval: float | None = None,
) -> int:
    """An agent in its own room; its number. A bot without a name is called after its number. Its first beat is
    within its interval, at a time that the world's seed says."""
    world = turn.world
    id = world.next_agent
    if kind == "bot" and not name.strip():
        name = f"Bot-{id}"
    tempo = world.rules.tempo
    every = min(tempo.most, max(tempo.least, tempo.first if interval is None else interval))
    turn.effects.append(
        e.AgentMade(
            id=id,
            kind=kind,
            name=checked_name(world, name, id),
            background=checked_text(world, background, "the background"),
            model=_checked_model(model),
            by=turn.by,
            depth=depth,
            can_create=can_create,
            input_format=input_format,
            output_format=output_format,
            interval=every,
            first_due=turn.now + int(every * 1000 * _share(world, id)),
        )
    )
    turn.effects.append(e.Joined(id, id, turn.by))
    return id


def retire(turn: Turn, id: int) -> None:
    """An agent's end: it leaves the rooms of others, what it asked and what was asked of it is denied."""
    world = turn.world
    target = world.agents[id]
    for room in world.rooms.values():
        for one in room.requests:
            request = world.requests[one]
            if room.id == id:
                deny(turn, request)
            elif request.agent == id:
                turn.effects.append(e.AccessDenied(one, turn.by))
    for other in target.rooms:
        if other != id:
            turn.effects.append(e.Left(other, id))
            turn.say(other, f"{called(world, id)} was retired.")
    turn.say(id, f"{called(world, id)} was retired. This room is closed.")
    turn.effects.append(e.AgentRetired(id, turn.by))


def _checked_model(name: str) -> str:
    if not name or visible(name) != name:
        raise OperationError(f"{visible(name)!r} is no model's name", hint="Letters that can be seen")
    return name


def _permit(turn: Turn) -> None:
    if not turn.free and not turn.me.can_create:
        raise OperationError("you may not make, alter or retire agents", hint="Ask the Architect")


def named(turn: Turn, id: int) -> str:
    """An agent that this turn makes, as system messages name it."""
    made = next(one for one in turn.effects if isinstance(one, e.AgentMade))
    return f"{as_said(made.name)} ({id})"


def _share(world: World, id: int) -> float:
    """A number from 0 to 1 that only the seed and the agent decide."""
    return int.from_bytes(blake2b(f"{world.seed}/{id}".encode(), digest_size=4).digest(), "big") / 2**32
