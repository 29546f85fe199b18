"""What an action is, the table of all of them, and the turn in which one is judged.

A module of actions says what it offers with `@action`. A function judges one action against the world and puts its
effects into the turn; it raises `OperationError` where the action is refused. Nothing is told before it returns, so
each action is whole or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar
from unicodedata import normalize

import msgspec
from msgspec import Meta

from hudkit.compose import visible
from hudkit.errors import OperationError
from hudkit.rooms import world_events as e
from hudkit.rooms.world import AgentState, RoomState, World

MINUTE = 60_000

PositiveId = Annotated[int, Meta(ge=1)]


class ActionArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Root of the argument structs of actions."""


A = TypeVar("A", bound=ActionArguments)


class ActionContext:
    """Who acts, when, and what comes of it. `by` is the authenticated actor: an agent, or the Architect (0), who may
    do everything, in the place of the agent `place`. `now` is Unix ms."""

    def __init__(self, world: World, by: int, now: int, secret: Callable[[], str], *, place: int = 0) -> None:
        self.world = world
        self.by = by
        self.place = place or by
        self.now = max(now, world.now)
        self.secret = secret
        self.effects: list[e.WorldEvent] = []
        self.anyway: list[e.WorldEvent] = []
        """Effects of an action that was refused."""
        self.whispers: list[tuple[int, str]] = []
        self.spent: dict[int, int] = {}
        """Words said in a room by this reply."""
        self.budgets: dict[int, int] = {}
        """Words that it may say there."""

    @property
    def free(self) -> bool:
        """Whether it is the Architect who acts."""
        return self.by == e.ARCHITECT

    @property
    def other(self) -> int | None:
        """Who acts, where it is not the agent in whose place it is."""
        return None if self.by == self.place else self.by

    @property
    def me(self) -> AgentState:
        """The agent that acts, or in whose place the Architect does."""
        return living_agent(self.world, self.place)

    @property
    def own(self) -> RoomState:
        """The actor's own room. Raises `OperationError` where it is closed."""
        return open_room(self.world, self.place)

    def say(self, room: int, content: str, *, sender: int = e.SYSTEM, reply_to: int = 0, words: int = 0) -> int:
        """A message with the next number, which is returned."""
        before = sum(isinstance(effect, e.MessagePosted) for effect in self.effects)
        kind: Literal["text", "system"] = "system" if sender == e.SYSTEM else "text"
        said = e.MessagePosted(self.world.next_message + before, room, sender, content, kind, reply_to, words)
        self.effects.append(said)
        return said.id

    def wake(self, agent: int, why: str) -> bool:
        """Let an agent's next beat come as soon as the tempo allows; whether anything changes by it. One that is
        retired, or awake and due before that, stays as it is, and so does everyone when the actor woke too many."""
        target = self.world.agents.get(agent)
        if target is None or target.retired or agent == self.by or self.wakes_left <= 0:
            return False
        due = max(self.now, target.last_beat + round(self.world.rules.tempo.least * 1000))
        # not woken yet, and it would find nothing new, or its time has come: it is thinking, or skips its beats
        idle = not target.woken and (why == "wake_agent" or target.due <= self.now)
        if target.due <= due and target.sleeps_until <= self.now and not idle:
            return False
        if any(isinstance(one, e.AgentWoken) and one.id == agent for one in self.effects):
            return False
        self.effects.append(e.AgentWoken(agent, self.by, why, due))
        return True

    def begin(self) -> None:
        """The next action of the same reply."""
        self.effects, self.anyway, self.whispers = [], [], []

    @property
    def wakes_left(self) -> int:
        """Agents that the actor may wake yet in this minute."""
        if self.free:
            return 1
        woken = sum(at > self.now - MINUTE for at in self.world.wakes.get(self.by, ()))
        woken += sum(isinstance(one, e.AgentWoken) for one in self.effects)
        return self.world.rules.caps.wakes - woken


Run = Callable[[ActionContext, A], None]


class Action(msgspec.Struct, frozen=True):
    """`summary` is a sentence; `gated` ones are for agents that may make agents, `example` is a right one."""

    name: str
    arguments: type[ActionArguments]
    run: Run[Any]
    gated: bool
    example: dict[str, Any]
    summary: str


ACTIONS: dict[str, Action] = {}
"""Every action by its name, as 003 has them."""


def action(
    name: str, arguments: type[A], example: Mapping[str, Any] | None = None, *, gated: bool = False
) -> Callable[[Run[A]], Run[A]]:
    """Register a function as an action; its docstring is the summary."""

    def register(run: Run[A]) -> Run[A]:
        summary = " ".join((run.__doc__ or "").split())
        ACTIONS[name] = Action(name, arguments, run, gated, {"type": name, **(example or {})}, summary)
        return run

    return register


def living_agent(world: World, id: int) -> AgentState:
    """A living agent. Raises `OperationError` where there is none."""
    agent = world.agents.get(id)
    if agent is None or agent.retired:
        raise OperationError(f"there is no agent {id}")
    return agent


def open_room(world: World, id: int) -> RoomState:
    """A room whose agent lives. Raises `OperationError` where there is none, or it is closed."""
    room = world.rooms.get(id)
    if room is None:
        raise OperationError(f"there is no room {id}")
    if world.agents[id].retired:
        raise OperationError(f"room {id} is closed: its agent is retired")
    return room


def joined_room(turn: ActionContext, id: int) -> RoomState:
    """An open room in which the actor is. Raises `OperationError` otherwise."""
    room = turn.world.rooms.get(id)
    if room is None or (not turn.free and turn.by not in room.members):
        rooms = "" if turn.free else f"Your rooms: {', '.join(map(str, turn.me.rooms))}"
        raise OperationError(f"you are in no room {id}", hint=rooms)
    return open_room(turn.world, id)


def neighbor(turn: ActionContext, id: int) -> AgentState:
    """A living agent that shares a room with the actor, and is not the actor. Raises `OperationError` otherwise,
    with the same words whether it is elsewhere or nowhere."""
    target = turn.world.agents.get(id)
    if turn.free:
        return living_agent(turn.world, id)
    if id == turn.by:
        raise OperationError("that is yourself", hint="Name another agent")
    if target is None or target.retired or not set(target.rooms) & set(turn.me.rooms):
        raise OperationError(f"there is no agent {id} in any of your rooms")
    return target


_PLAIN = re.compile(r"[\w' -]+")


def display_name(world: World, id: int) -> str:
    """An agent as system messages name it: `Ann (5)`."""
    if id == e.ARCHITECT:
        return "The Architect"
    return f"{quoted_name(world.agents[id].name)} ({id})"


def quoted_name(name: str) -> str:
    """A name within a system message: in quotes where it has more than letters, digits and blanks, so that no name
    goes on as a sentence of the system's."""
    return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', "'") + '"'


def checked_text(world: World, text: str, what: str) -> str:
    """A text without white space around it. Raises `OperationError` where it is empty or too long."""
    text = text.strip()
    most = world.rules.caps.message
    if not text:
        raise OperationError(f"{what} is empty")
    if len(text) > most:
        raise OperationError(f"{what} has {len(text)} characters", hint=f"At most {most}")
    return text


_RESERVED = frozenset(("system", "the architect", "architect", "you"))


def _folded(name: str) -> str:
    """A name without its case and without other forms of the same letters, such as wide ones."""
    return normalize("NFKC", name).casefold()


def checked_name(world: World, name: str, id: int) -> str:
    """A name for agent `id`. Raises `OperationError` for an empty, a long or a taken one, one of the system's, one of
    digits only, and one with hidden characters."""
    name = " ".join(name.split())
    most = world.rules.caps.name
    if not name or len(name) > most:
        raise OperationError(f"a name of {len(name)} characters", hint=f"1 to {most}")
    if visible(name) != name or _folded(name).isdigit() or _folded(name) in _RESERVED:
        raise OperationError(
            f"{visible(name)!r} cannot be a name", hint="Letters that can be seen, and nobody else's"
        )
    for agent in world.agents.values():
        if agent.id != id and not agent.retired and _folded(agent.name) == _folded(name):
            raise OperationError(f"{name!r} is agent {agent.id}'s name", hint="Choose another one")
    return name
