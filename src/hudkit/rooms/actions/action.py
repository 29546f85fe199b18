"""What an action is, the table of all of them, and the context in which one is evaluated.

A module of actions says what it offers with `@action`. Such a function evaluates one action against the world and
puts its effects into the context; it raises `OperationError` where the action is refused. Nothing is appended to the
log before it returns, so each action is whole or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from hudkit.errors import OperationError
from hudkit.rooms import world_events as e
from hudkit.rooms.world import AgentState, RoomState, World

MINUTE = 60_000

PositiveId = Annotated[int, Meta(ge=1)]


class ActionArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the argument structs of actions."""


A = TypeVar("A", bound=ActionArguments)


UseTool: TypeAlias = Callable[[World, int, str, Mapping[str, Any]], str]
"""Carries out a tool for an agent: the world, the agent, the tool's name, its arguments; returns what it came to."""


class ActionContext:
    """Who acts, when, and what comes of it.

    `actor` is the authenticated actor: an agent, or the Architect (0), who may do everything, in the place of the
    agent `acting_as`. `now` is Unix ms, and never before the world's last event.
    """

    def __init__(self, world: World, actor: int, now: int, secret: Callable[[], str], *, acting_as: int = 0) -> None:
        """`secret` gives new random bits, in hexadecimal digits. An agent acts as itself."""
        self.world = world
        self.actor = actor
        self.acting_as = acting_as or actor
        # A clock that was set back must not shorten a pace, or end a lock, that was reckoned with the later time.
        self.now = max(now, world.now)
        self.secret = secret
        self.effects: list[e.WorldEvent] = []
        self.use_tool: UseTool | None = None
        """Carries out the tools of the world's rules; `None`: nobody does."""
        self.effects_if_refused: list[e.WorldEvent] = []
        """Effects of an action that was refused: a wrong key counts."""
        self.whispers: list[tuple[int, str]] = []
        self.beat = 0
        """The number of the beat whose reply is carried out; 0: none."""
        self.words_spent: dict[int, int] = {}
        """Words that this reply said, by room."""
        self.spoke_at: dict[int, int | None] = {}
        """When the agent spoke in a room before this reply did, by room."""
        self.word_budgets: dict[int, int] = {}
        """Words that it may say, by room: worked out once, before its first message there changes the pace."""

    @property
    def is_architect(self) -> bool:
        """Whether it is the Architect who acts."""
        return self.actor == e.ARCHITECT

    @property
    def other_actor(self) -> int | None:
        """Return who acts in another agent's place, as events name it in `by`; `None` where an agent acts itself."""
        return None if self.actor == self.acting_as else self.actor

    @property
    def agent(self) -> AgentState:
        """Return the agent that acts, or in whose place the Architect does."""
        return living_agent(self.world, self.acting_as)

    @property
    def own_room(self) -> RoomState:
        """Return the actor's own room. Raises `OperationError` where it is closed."""
        return open_room(self.world, self.acting_as)

    @property
    def wakes_left(self) -> int:
        """Return how many agents the actor may still wake in this minute."""
        # The Architect has no limit; one is as good as many, for only "none" is asked.
        if self.is_architect:
            return 1
        woken = sum(time > self.now - MINUTE for time in self.world.wakes.get(self.actor, ()))
        woken += sum(isinstance(effect, e.AgentWoken) for effect in self.effects)
        return self.world.rules.caps.wakes - woken

    def begin_action(self) -> None:
        """Forget the effects of the action before: the next one of the same reply begins."""
        self.effects, self.effects_if_refused, self.whispers = [], [], []

    def post(
        self,
        room: int,
        content: str,
        *,
        sender: int = e.SYSTEM,
        reply_to: int = 0,
        words: int = 0,
        pending: int = 0,
    ) -> int:
        """Post a message with the world's next number, and return that."""
        # Effects are not folded in yet, so numbers that they take are counted here.
        posted_before = sum(isinstance(effect, e.MessagePosted) for effect in self.effects)
        kind: Literal["text", "system"] = "system" if sender == e.SYSTEM else "text"
        id = self.world.next_message + posted_before
        self.effects.append(e.MessagePosted(id, room, sender, content, kind, reply_to, words, pending))
        return id

    def wake(self, agent: int, why: str) -> bool:
        """Let an agent's next beat come as soon as the world's interval allows; return whether that changes anything.

        An agent that is retired, or awake and due before that, stays as it is, and so does everyone when the actor
        woke too many.
        """
        target = self.world.agents.get(agent)
        if target is None or target.retired or agent == self.actor or self.wakes_left <= 0:
            return False
        due = max(self.now, target.last_beat + round(self.world.rules.tempo.min_interval * 1000))
        # An agent whose time has come without a beat is thinking, or skips its beats because it finds nothing new.
        # Then a wake is news to it, although it is due already.
        idle = not target.woken and (why == "wake_agent" or target.due <= self.now)
        if target.due <= due and target.sleeps_until <= self.now and not idle:
            return False
        if any(isinstance(effect, e.AgentWoken) and effect.id == agent for effect in self.effects):
            return False
        self.effects.append(e.AgentWoken(agent, self.actor, why, due))
        return True


Run = Callable[[ActionContext, A], None]


class Action(msgspec.Struct, frozen=True):
    """An action that agents have. `summary` is a sentence; `gated` ones are for agents that may make agents;
    `example` is a right one."""

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
    """Return a decorator that registers a function as an action; its docstring is the summary."""

    def register(run: Run[A]) -> Run[A]:
        summary = " ".join((run.__doc__ or "").split())
        ACTIONS[name] = Action(name, arguments, run, gated, {"type": name, **(example or {})}, summary)
        return run

    return register


# -- what actions look up ------------------------------------------------------------------------------------------


def living_agent(world: World, id: int) -> AgentState:
    """Return a living agent. Raises `OperationError` where there is none."""
    agent = world.agents.get(id)
    if agent is None or agent.retired:
        raise OperationError(f"there is no agent {id}")
    return agent


def open_room(world: World, id: int) -> RoomState:
    """Return a room whose agent lives. Raises `OperationError` where there is none, or it is closed."""
    room = world.rooms.get(id)
    if room is None:
        raise OperationError(f"there is no room {id}")
    if world.agents[id].retired:
        raise OperationError(f"room {id} is closed: its agent is retired")
    return room


def joined_room(context: ActionContext, id: int) -> RoomState:
    """Return an open room in which the actor is. Raises `OperationError` otherwise."""
    room = context.world.rooms.get(id)
    if room is None or (not context.is_architect and context.actor not in room.members):
        rooms = "" if context.is_architect else f"Your rooms: {', '.join(map(str, context.agent.rooms))}"
        raise OperationError(f"you are in no room {id}", hint=rooms)
    return open_room(context.world, id)


def neighbor(context: ActionContext, id: int) -> AgentState:
    """Return a living agent that shares a room with the actor, and is not the actor.

    Raises `OperationError` otherwise, in the same words whether it is elsewhere or nowhere: who is where is no secret
    to be probed for.
    """
    target = context.world.agents.get(id)
    if context.is_architect:
        return living_agent(context.world, id)
    if id == context.actor:
        raise OperationError("that is yourself", hint="Name another agent")
    if target is None or target.retired or not set(target.rooms) & set(context.agent.rooms):
        raise OperationError(f"there is no agent {id} in any of your rooms")
    return target


_PLAIN_NAME = re.compile(r"[\w' -]+")


def display_name(world: World, id: int) -> str:
    """Return an agent as system messages name it: `Ann (5)`."""
    if id == e.ARCHITECT:
        return "The Architect"
    return f"{quoted_name(world.agents[id].name)} ({id})"


def quoted_name(name: str) -> str:
    """Return a name within a system message: in quotes where it has more than letters, digits and blanks.

    So no name goes on as a sentence of the system's.
    """
    return name if _PLAIN_NAME.fullmatch(name) else '"' + name.replace('"', "'") + '"'


def checked_text(world: World, text: str, subject: str) -> str:
    """Return a text without white space around it. Raises `OperationError` where it is empty or too long."""
    text = text.strip()
    limit = world.rules.caps.message
    if not text:
        raise OperationError(f"{subject} is empty")
    if len(text) > limit:
        raise OperationError(f"{subject} has {len(text)} characters", hint=f"At most {limit}")
    return text
