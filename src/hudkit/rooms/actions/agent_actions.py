"""Making, altering and retiring agents: for the Architect, and for agents that it lets."""

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
    checked_name,
    checked_text,
    display_name,
    joined_room,
    neighbor,
    quoted_name,
)
from hudkit.rooms.actions.room_actions import close_request
from hudkit.rooms.allowances import check_share, parse_share
from hudkit.rooms.knowledge_tree import MOST_DEPTH, append_at, check_writable, delete_at, knowledge_json, set_at
from hudkit.rooms.world import World
from hudkit.tokens import count

Model = Annotated[str, Meta(min_length=1, max_length=200)]


class _CreateAgentArguments(ActionArguments, frozen=True):
    name: str
    background_prompt: str
    agent_type: e.AgentKind = "persona"
    in_room_id: PositiveId | None = None


class AlterAgentArguments(ActionArguments, frozen=True):
    agent_id: PositiveId
    background_prompt: str | None = None
    name: str | None = None
    model: Model | None = None


class _RetireAgentArguments(ActionArguments, frozen=True):
    agent_id: PositiveId


@action(
    "create_agent",
    _CreateAgentArguments,
    {"name": "Ann", "background_prompt": "You like old maps.", "agent_type": "persona", "in_room_id": 8},
    gated=True,
)
def create_agent(turn: ActionContext, args: _CreateAgentArguments) -> None:
    """Make an agent with a room of its own; it also comes into a room of yours."""
    me, caps = turn.me, turn.world.rules.caps
    _permit(turn)
    if me.depth >= caps.depth:
        raise OperationError(f"agents that agents made make none (depth {caps.depth})")
    living = sum(agent.by == me.id and not agent.retired for agent in turn.world.agents.values())
    if living >= caps.agents_of:
        raise OperationError(f"{living} agents that you made are there", hint="Retire one first")
    room = joined_room(turn, args.in_room_id or me.id)
    id = add_agent(turn, args.agent_type, args.name, args.background_prompt, me.model, depth=me.depth + 1)
    turn.effects.append(e.RoomJoined(room.id, id, turn.by))
    turn.say(room.id, f"{new_agent_name(turn, id)} came in, made by {display_name(turn.world, me.id)}.")


@action("alter_agent", AlterAgentArguments, {"agent_id": 12, "background_prompt": "You like new maps."}, gated=True)
def alter_agent(turn: ActionContext, args: AlterAgentArguments) -> None:
    """Change another agent in one of your rooms."""
    _permit(turn)
    target = neighbor(turn, args.agent_id)
    name = None if args.name is None else checked_name(turn.world, args.name, target.id)
    background = (
        None if args.background_prompt is None else checked_text(turn.world, args.background_prompt, "the background")
    )
    if name is None and background is None and args.model is None:
        raise OperationError("nothing is to be changed", hint="Give a name, a background_prompt or a model")
    before = display_name(turn.world, target.id)
    model = None if args.model is None else _checked_model(args.model)
    turn.effects.append(e.AgentAltered(target.id, turn.by, name=name, background=background, model=model))
    if name not in (None, target.name):
        turn.say(target.id, f"{before} is now called {quoted_name(name or '')}.")


@action("retire_agent", _RetireAgentArguments, {"agent_id": 12}, gated=True)
def retire_agent(turn: ActionContext, args: _RetireAgentArguments) -> None:
    """Retire another agent in one of your rooms: it has no more beats, and its room is closed."""
    _permit(turn)
    retire_from_world(turn, neighbor(turn, args.agent_id).id)


def add_agent(
    turn: ActionContext,
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
        e.AgentCreated(
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
    turn.effects.append(e.RoomJoined(id, id, turn.by))
    return id


def retire_from_world(turn: ActionContext, id: int) -> None:
    """An agent's end: it leaves the rooms of others, what it asked and what was asked of it is denied."""
    world = turn.world
    target = world.agents[id]
    for room in world.rooms.values():
        for one in room.requests:
            request = world.requests[one]
            if room.id == id:
                close_request(turn, request)
            elif request.agent == id:
                turn.effects.append(e.AccessDenied(one, turn.by))
    for other in target.rooms:
        if other != id:
            turn.effects.append(e.RoomLeft(other, id))
            turn.say(other, f"{display_name(world, id)} was retired.")
    turn.say(id, f"{display_name(world, id)} was retired. This room is closed.")
    turn.effects.append(e.AgentRetired(id, turn.by))


def _checked_model(name: str) -> str:
    if not name or visible(name) != name:
        raise OperationError(f"{visible(name)!r} is no model's name", hint="Letters that can be seen")
    return name


def _permit(turn: ActionContext) -> None:
    if not turn.free and not turn.me.can_create:
        raise OperationError("you may not make, alter or retire agents", hint="Ask the Architect")


def new_agent_name(turn: ActionContext, id: int) -> str:
    """An agent that this turn makes, as system messages name it."""
    made = next(one for one in turn.effects if isinstance(one, e.AgentCreated))
    return f"{quoted_name(made.name)} ({id})"


def _share(world: World, id: int) -> float:
    """A number from 0 to 1 that only the seed and the agent decide."""
    return int.from_bytes(blake2b(f"{world.seed}/{id}".encode(), digest_size=4).digest(), "big") / 2**32


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = int((datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH).total_seconds() * 1000)


class _AttentionArguments(ActionArguments, frozen=True):
    room_id: PositiveId
    value: float | str


class _NameArguments(ActionArguments, frozen=True):
    name: str


class _SleepArguments(ActionArguments, frozen=True):
    until: str


@action("set_attention", _AttentionArguments, {"room_id": 8, "value": "30%"})
def set_attention(turn: ActionContext, args: _AttentionArguments) -> None:
    """Set the share of the messages that you see which are of a room: a percentage, or %* for a share of the rest."""
    me = turn.me
    if args.room_id not in me.rooms:
        raise OperationError(
            f"you are in no room {args.room_id}", hint=f"Your rooms: {', '.join(map(str, me.rooms))}"
        )
    percent = parse_share(args.value)
    check_share(me.attention, args.room_id, percent)
    turn.effects.append(e.AttentionSet(turn.place, args.room_id, percent))


@action("set_name", _NameArguments, {"name": "Ann"})
def set_name(turn: ActionContext, args: _NameArguments) -> None:
    """Change your name."""
    me = turn.me
    name = checked_name(turn.world, args.name, me.id)
    if name == me.name:
        raise OperationError(f"your name is {name!r}")
    before = display_name(turn.world, me.id)
    turn.effects.append(e.AgentAltered(me.id, turn.by, name=name))
    turn.say(me.id, f"{before} is now called {quoted_name(name)}.")


@action("sleep", _SleepArguments, {"until": "2026-01-15T14:30:00Z"})
def sleep(turn: ActionContext, args: _SleepArguments) -> None:
    """Have no beats until a time (UTC where it names no zone); being named, answered or woken ends it."""
    until = _moment(args.until)
    if until > _LAST:
        raise OperationError(f"{args.until!r:.40} is too late a time", hint="Until the year 9999")
    if until <= turn.now:
        now = datetime.fromtimestamp(turn.now / 1000, UTC)
        raise OperationError(f"{args.until!r:.40} is not ahead", hint=f"It is {now:%Y-%m-%dT%H:%M:%SZ} now")
    turn.effects.append(e.AgentSlept(turn.me.id, until))


def _moment(text: str) -> int:
    """A time of ISO 8601 in Unix ms."""
    try:
        moment = datetime.fromisoformat(text.strip())
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return int((moment - _EPOCH).total_seconds() * 1000)
    except (ValueError, OverflowError):
        raise OperationError(f"{text!r:.40} is no time", hint="Such as 2026-01-15T14:30:00Z") from None


Path = Annotated[str, Meta(min_length=1)]
Weight = Annotated[float, Meta(ge=0, le=1)]


class SetArguments(ActionArguments, frozen=True):
    path: Path
    value: Any
    w: Weight | None = None


class _AppendArguments(ActionArguments, frozen=True):
    path: Path
    value: Any


class _DeleteArguments(ActionArguments, frozen=True):
    path: Path


@action("set", SetArguments, {"path": "people.Bob.trust", "value": 0.8, "w": 0.9})
def set_value(turn: ActionContext, args: SetArguments) -> None:
    """Write a value at a path of your memory, with a weight if you like."""
    value, weight = args.value, args.w
    if isinstance(value, Mapping) and value.keys() == {"v", "w"}:
        value, weight = value["v"], _weight(value["w"])
    value = _plain(value)
    check_writable(turn.me.knowledge, args.path)
    _check(turn, set_at(turn.me.knowledge, args.path, value))
    turn.effects.append(e.KnowledgeSet(turn.place, args.path, value, weight, turn.other))


@action("delete", _DeleteArguments, {"path": "people.Bob.trust"})
def delete_value(turn: ActionContext, args: _DeleteArguments) -> None:
    """Remove what is at a path of your memory."""
    delete_at(turn.me.knowledge, args.path)
    turn.effects.append(e.KnowledgeDeleted(turn.place, args.path))


@action("append", _AppendArguments, {"path": "goals", "value": "Learn how rooms work"})
def append_value(turn: ActionContext, args: _AppendArguments) -> None:
    """Add a value to the end of a list in your memory."""
    value = _plain(args.value)
    check_writable(turn.me.knowledge, args.path, appending=True)
    _check(turn, append_at(turn.me.knowledge, args.path, value))
    turn.effects.append(e.KnowledgeAppended(turn.place, args.path, value))


def knowledge_tokens(knowledge: Mapping[str, Any], counted: Callable[[str], int] = count) -> int:
    """The tokens of a memory, as `memory_used` counts them."""
    return counted(knowledge_json(knowledge))


def _check(turn: ActionContext, tree: dict[str, Any]) -> None:
    most = turn.world.rules.tokens.knowledge
    text = knowledge_json(tree)
    if len(text.encode()) <= most:  # no token is shorter than a byte
        return
    need = count(text)
    if need > most and need > knowledge_tokens(turn.me.knowledge):
        raise OperationError(
            f"your memory would have {need} tokens, {most} at most", hint="Delete or shorten something first"
        )


def _weight(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise OperationError(f"the weight is {value!r:.40}", hint="A number from 0 to 1")
    return float(value)


def _plain(value: Any, levels: int = MOST_DEPTH) -> Any:
    """A value that every format can say. Raises `OperationError` where it is nested too deeply."""
    if isinstance(value, dict | list) and not levels:
        raise OperationError("the value is nested too deeply", hint=f"{MOST_DEPTH} levels at most")
    if isinstance(value, dict):
        return {key: _plain(one, levels - 1) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one, levels - 1) for one in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise OperationError(f"{value:.3e} is too large a number", hint="Write it as a text")
    return 0 if isinstance(value, float) and value == 0 else value  # TOON has no negative zero
