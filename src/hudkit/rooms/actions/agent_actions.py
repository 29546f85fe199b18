"""Actions on agents: making, altering and retiring them; their own attention, name and sleep; their memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Annotated, Any, Literal

from msgspec import Meta

from hudkit.compose import visible
from hudkit.errors import OperationError
from hudkit.rooms import world_events as e
from hudkit.rooms.actions.action import (
    ActionArguments,
    ActionContext,
    PositiveId,
    action,
    checked_text,
    display_name,
    joined_room,
    neighbor,
    quoted_name,
)
from hudkit.rooms.actions.room_actions import close_request
from hudkit.rooms.agent_names import check_spelling
from hudkit.rooms.allowances import check_share, parse_share
from hudkit.rooms.knowledge_tree import MAX_DEPTH, append_at, check_writable, delete_at, knowledge_json, set_at
from hudkit.rooms.partitions.relay import emptiest_partition, free_agent_number
from hudkit.rooms.world import World
from hudkit.tokens import count_tokens

_Model = Annotated[str, Meta(min_length=1, max_length=200)]


# -- making, altering, retiring ------------------------------------------------------------------------------------


class _CreateAgentArguments(ActionArguments, frozen=True):
    name: str
    background_prompt: str
    agent_type: e.AgentKind = "persona"
    in_room_id: PositiveId | None = None


class _AlterAgentArguments(ActionArguments, frozen=True):
    """The arguments of `alter_agent`; what is `None` stays."""

    agent_id: PositiveId
    background_prompt: str | None = None
    name: str | None = None
    model: _Model | None = None


class _RetireAgentArguments(ActionArguments, frozen=True):
    agent_id: PositiveId


@action(
    "create_agent",
    _CreateAgentArguments,
    {"name": "Ann", "background_prompt": "You like old maps.", "agent_type": "persona", "in_room_id": 8},
    gated=True,
)
def _create_agent(context: ActionContext, args: _CreateAgentArguments) -> None:
    """Make an agent with a room of its own; it also comes into a room of yours."""
    maker, caps = context.agent, context.world.rules.caps
    _check_may_create(context)
    if maker.depth >= caps.depth:
        raise OperationError(f"agents that agents made make none (depth {caps.depth})")
    # Retired ones do not count: the cap is on what runs, and costs.
    living = sum(agent.by == maker.id and not agent.retired for agent in context.world.agents.values())
    if living >= caps.agents_of:
        raise OperationError(f"{living} agents that you made are there", hint="Retire one first")
    room = joined_room(context, args.in_room_id or maker.id)
    id = add_agent(context, args.agent_type, args.name, args.background_prompt, maker.model, depth=maker.depth + 1)
    context.effects.append(e.RoomJoined(room.id, id, context.actor))
    context.post(room.id, f"{new_agent_name(context, id)} came in, made by {display_name(context.world, maker.id)}.")


@action("alter_agent", _AlterAgentArguments, {"agent_id": 12, "background_prompt": "You like new maps."}, gated=True)
def _alter_agent(context: ActionContext, args: _AlterAgentArguments) -> None:
    """Change another agent in one of your rooms."""
    _check_may_create(context)
    world = context.world
    target = neighbor(context, args.agent_id)
    name = background = model = None
    if args.name is not None:
        name = _checked_name(world, args.name, target.id)
    if args.background_prompt is not None:
        background = checked_text(world, args.background_prompt, "the background")
    if name is None and background is None and args.model is None:
        raise OperationError("nothing is to be changed", hint="Give a name, a background_prompt or a model")
    before = display_name(world, target.id)
    if args.model is not None:
        model = _checked_model(args.model)
    context.effects.append(e.AgentAltered(target.id, context.actor, name=name, background=background, model=model))
    if name not in (None, target.name):
        context.post(target.id, f"{before} is now called {quoted_name(name or '')}.")


@action("retire_agent", _RetireAgentArguments, {"agent_id": 12}, gated=True)
def _retire_agent(context: ActionContext, args: _RetireAgentArguments) -> None:
    """Retire another agent in one of your rooms: it has no more beats, and its room is closed."""
    _check_may_create(context)
    retire_from_world(context, neighbor(context, args.agent_id).id)


def add_agent(
    context: ActionContext,
    kind: e.AgentKind,
    name: str,
    background: str,
    model: str,
    *,
    depth: int = 0,
    can_create: bool = False,
    input_format: e.HudFormat = "json",
    output_format: Literal["json", "toon"] = "json",
    interval: float | None = None,
    answers: e.AnswerSettings = e.PLAYER_SETTINGS,
) -> int:
    """Make an agent in its own room, and return its number.

    A bot without a name is called after its number. `interval` is in seconds between beats, within the world's
    bounds. The first beat is within the interval, at a time that the world's seed decides: agents that are made
    together do not beat together. Raises `OperationError` for a name, a background or a model that cannot be.
    """
    world = context.world
    id = free_agent_number(world)
    if kind == "bot" and not name.strip():
        name = f"Bot-{id}"
    tempo = world.rules.tempo
    wanted = tempo.first if interval is None else interval
    bounded = min(tempo.max_interval, max(tempo.min_interval, wanted))
    context.effects.append(
        e.AgentCreated(
            id=id,
            kind=kind,
            name=_checked_name(world, name, id),
            background=checked_text(world, background, "the background"),
            model=_checked_model(model),
            by=context.actor,
            depth=depth,
            can_create=can_create,
            input_format=input_format,
            output_format=output_format,
            interval=bounded,
            first_due=context.now + int(bounded * 1000 * _seeded_fraction(world, id)),
            answers=answers,
            home=emptiest_partition(world),
        )
    )
    context.effects.append(e.RoomJoined(id, id, context.actor))
    return id


def new_agent_name(context: ActionContext, id: int) -> str:
    """Return an agent that is only just made, and in no world yet, as system messages name it."""
    created = next(effect for effect in context.effects if isinstance(effect, e.AgentCreated))
    return f"{quoted_name(created.name)} ({id})"


def retire_from_world(context: ActionContext, id: int) -> None:
    """Retire an agent: it leaves the rooms of others, and what it asked and what was asked of it is denied."""
    world = context.world
    target = world.agents[id]
    for room in world.rooms.values():
        for request_id in room.requests:
            request = world.requests[request_id]
            if room.id == id:
                close_request(context, request)
            elif request.agent == id:
                # Nobody is told: who asked is gone.
                context.effects.append(e.AccessDenied(request_id, context.actor))
    # Its own room it keeps: what was said there stays readable to its members.
    for room_id in target.rooms:
        if room_id != id:
            context.effects.append(e.RoomLeft(room_id, id))
            context.post(room_id, f"{display_name(world, id)} was retired.")
    context.post(id, f"{display_name(world, id)} was retired. This room is closed.")
    context.effects.append(e.AgentRetired(id, context.actor))


def _checked_model(name: str) -> str:
    if not name or visible(name) != name:
        raise OperationError(f"{visible(name)!r} is no model's name", hint="Letters that can be seen")
    return name


def _check_may_create(context: ActionContext) -> None:
    if not context.is_architect and not context.agent.can_create:
        raise OperationError("you may not make, alter or retire agents", hint="Ask the Architect")


def _seeded_fraction(world: World, id: int) -> float:
    """Return a number from 0 to 1 that only the seed and the agent decide."""
    return int.from_bytes(blake2b(f"{world.seed}/{id}".encode(), digest_size=4).digest(), "big") / 2**32


# -- attention, name, sleep ----------------------------------------------------------------------------------------

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = int((datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH).total_seconds() * 1000)
"""The last day that a date can say (Unix ms): what sleeps longer could not be shown."""


class _AttentionArguments(ActionArguments, frozen=True):
    room_id: PositiveId
    value: float | str


class _NameArguments(ActionArguments, frozen=True):
    name: str


class _SleepArguments(ActionArguments, frozen=True):
    until: str


@action("set_attention", _AttentionArguments, {"room_id": 8, "value": "30%"})
def _set_attention(context: ActionContext, args: _AttentionArguments) -> None:
    """Set the share of the messages that you see which are of a room: a percentage, or %* for a share of the rest."""
    agent = context.agent
    if args.room_id not in agent.rooms:
        raise OperationError(
            f"you are in no room {args.room_id}", hint=f"Your rooms: {', '.join(map(str, agent.rooms))}"
        )
    percent = parse_share(args.value)
    check_share(agent.attention, args.room_id, percent)
    context.effects.append(e.AttentionSet(context.acting_as, args.room_id, percent))


@action("set_name", _NameArguments, {"name": "Ann"})
def _set_name(context: ActionContext, args: _NameArguments) -> None:
    """Change your name."""
    agent = context.agent
    name = _checked_name(context.world, args.name, agent.id)
    if name == agent.name:
        raise OperationError(f"your name is {name!r}")
    before = display_name(context.world, agent.id)
    context.effects.append(e.AgentAltered(agent.id, context.actor, name=name))
    context.post(agent.id, f"{before} is now called {quoted_name(name)}.")


@action("sleep", _SleepArguments, {"until": "2026-01-15T14:30:00Z"})
def _sleep(context: ActionContext, args: _SleepArguments) -> None:
    """Have no beats until a time (UTC where it names no zone); being named, answered or woken ends it."""
    until = _parse_time(args.until)
    if until > _LATEST:
        raise OperationError(f"{args.until!r:.40} is too late a time", hint="Until the year 9999")
    if until <= context.now:
        now = datetime.fromtimestamp(context.now / 1000, UTC)
        raise OperationError(f"{args.until!r:.40} is not ahead", hint=f"It is {now:%Y-%m-%dT%H:%M:%SZ} now")
    context.effects.append(e.AgentSlept(context.agent.id, until))


def _parse_time(text: str) -> int:
    """Return a time of ISO 8601 in Unix ms. Raises `OperationError` where it is none."""
    try:
        time = datetime.fromisoformat(text.strip())
        time = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
        return int((time - _EPOCH).total_seconds() * 1000)
    except (ValueError, OverflowError):
        raise OperationError(f"{text!r:.40} is no time", hint="Such as 2026-01-15T14:30:00Z") from None


# -- memory --------------------------------------------------------------------------------------------------------

_Path = Annotated[str, Meta(min_length=1)]
_Weight = Annotated[float, Meta(ge=0, le=1)]


class _SetArguments(ActionArguments, frozen=True):
    """The arguments of `set`; `w` is the weight."""

    path: _Path
    value: Any
    w: _Weight | None = None


class _AppendArguments(ActionArguments, frozen=True):
    path: _Path
    value: Any


class _DeleteArguments(ActionArguments, frozen=True):
    path: _Path


@action("set", _SetArguments, {"path": "people.Bob.trust", "value": 0.8, "w": 0.9})
def _set_value(context: ActionContext, args: _SetArguments) -> None:
    """Write a value at a path of your memory, with a weight if you like."""
    value, weight = args.value, args.w
    if isinstance(value, Mapping) and value.keys() == {"v", "w"}:  # as its HUD shows what has a weight
        value, weight = value["v"], _checked_weight(value["w"])
    value = _plain_value(value)
    check_writable(context.agent.knowledge, args.path)
    _check_size(context, set_at(context.agent.knowledge, args.path, value))
    context.effects.append(e.KnowledgeSet(context.acting_as, args.path, value, weight, context.other_actor))


@action("delete", _DeleteArguments, {"path": "people.Bob.trust"})
def _delete_value(context: ActionContext, args: _DeleteArguments) -> None:
    """Remove what is at a path of your memory."""
    delete_at(context.agent.knowledge, args.path)  # raises where nothing is there
    context.effects.append(e.KnowledgeDeleted(context.acting_as, args.path))


@action("append", _AppendArguments, {"path": "goals", "value": "Learn how rooms work"})
def _append_value(context: ActionContext, args: _AppendArguments) -> None:
    """Add a value to the end of a list in your memory."""
    value = _plain_value(args.value)
    check_writable(context.agent.knowledge, args.path, appending=True)
    _check_size(context, append_at(context.agent.knowledge, args.path, value))
    context.effects.append(e.KnowledgeAppended(context.acting_as, args.path, value))


def knowledge_tokens(knowledge: Mapping[str, Any], counter: Callable[[str], int] = count_tokens) -> int:
    """Return the tokens of a memory, as `memory_used` counts them."""
    return counter(knowledge_json(knowledge))


def _check_size(context: ActionContext, tree: dict[str, Any]) -> None:
    """Raise `OperationError` where a memory would be too large; one that is smaller than before never is."""
    limit = context.world.rules.tokens.knowledge
    text = knowledge_json(tree)
    if len(text.encode()) <= limit:  # no token is shorter than a byte
        return
    tokens = count_tokens(text)
    if tokens > limit and tokens > knowledge_tokens(context.agent.knowledge):
        raise OperationError(
            f"your memory would have {tokens} tokens, {limit} at most", hint="Delete or shorten something first"
        )


def _checked_weight(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise OperationError(f"the weight is {value!r:.40}", hint="A number from 0 to 1")
    return float(value)


def _plain_value(value: Any, levels: int = MAX_DEPTH) -> Any:
    """Return a value that every format can say. Raises `OperationError` where it is nested too deeply."""
    if isinstance(value, dict | list) and not levels:
        raise OperationError("the value is nested too deeply", hint=f"{MAX_DEPTH} levels at most")
    if isinstance(value, dict):
        return {key: _plain_value(item, levels - 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain_value(item, levels - 1) for item in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise OperationError(f"{value:.3e} is too large a number", hint="Write it as a text")
    return 0 if isinstance(value, float) and value == 0 else value  # TOON has no negative zero


def _checked_name(world: World, name: str, id: int) -> str:
    """Return a name for agent `id`, with single blanks.

    The name that it has stays allowed: agents of an earlier version may have names that are refused today. Raises
    `OperationError` for one that cannot be (`check_spelling`), and for one that looks like another living agent's.
    """
    if id in world.agents and name == world.agents[id].name:
        return name
    name = check_spelling(name, world.rules.caps.name)
    others = world.living_names.numbers_like(name) - {id}
    if others:
        raise OperationError(f"{name!r} is agent {min(others)}'s name, or looks like it", hint="Choose another one")
    return name
