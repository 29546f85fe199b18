"""What is true of a world: agents, rooms, messages, requests, folded from its events one by one.

A world is large and changes a thousand times a second, so its state is changed in place, and only by `folding.apply`:
the same events in the same order give the same world, which is what tests compare.
"""

from __future__ import annotations

from typing import Any

import msgspec

from hudkit.rooms import events as e
from hudkit.rooms.rules import Rules


class Done(msgspec.Struct, gc=False):
    """An action of an agent's, as it sees it afterwards; `why` where it was refused."""

    at: int
    action: dict[str, Any]
    why: str = ""


class Agent(msgspec.Struct):
    id: int
    kind: e.Kind
    name: str
    background: str
    model: str
    by: int = 0
    depth: int = 0
    can_create: bool = False
    input_format: e.Format = "json"
    output_format: str = "json"
    interval: float = 5.0
    born: int = 0
    retired: bool = False
    sleeps_until: int = 0
    slowed_until: int = 0
    """It was found in a loop with another agent: before that, only the Architect wakes it."""
    woken: bool = False
    due: int = 0
    beats: int = 0
    beating: int = 0
    """The number of the beat that is under way; 0: none."""
    last_beat: int = 0
    last_error: str = ""
    knowledge: dict[str, Any] = {}
    weights: dict[str, float] = {}
    attention: dict[int, float] = {}
    """Percent by room, where it is fixed; other rooms share what is left."""
    rooms: list[int] = []
    """In the order in which it came."""
    recent: list[Done] = []
    spoke: dict[int, int] = {}
    """When it last said something, by room (Unix ms)."""
    changed: int = 0
    """The number of the last event that its HUD shows; a beat whose HUD would show nothing new is skipped."""
    seen: int = 0
    """The last event before its last beat."""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0


class Key(msgspec.Struct):
    label: str
    digest: str
    salt: str
    uses: int = 0
    """How often it may be used yet; 0: as often as one likes."""


class Room(msgspec.Struct):
    """The room of the agent with the same number."""

    id: int
    wpm: int
    billboard: str = ""
    members: list[int] = []
    joined: dict[int, int] = {}
    """The last message's number when a member came: earlier ones it does not see."""
    keys: list[Key] = []
    messages: list[int] = []
    reactions: int = 0
    """Those to its messages: what was counted of them holds as long as there are no more."""
    requests: list[int] = []
    """Those that are open."""


class Message(msgspec.Struct, gc=False):
    id: int
    room: int
    sender: int
    content: str
    kind: str
    reply_to: int
    words: int
    at: int
    reactions: dict[str, list[int]] = {}
    """Who reacted so."""
    version: int = 0
    """Counts its changes: what was counted of it holds as long as this is the same."""


class Request(msgspec.Struct):
    """One that is open."""

    id: int
    room: int
    agent: int
    label: str
    at: int


class World(msgspec.Struct):
    name: str = ""
    seed: int = 0
    rules: Rules = Rules()
    prompts: dict[str, str] = {}
    seq: int = 0
    now: int = 0
    """The time of the last event (Unix ms); clocks go backwards, this does not."""
    begun: int = 0
    paused: str | None = None
    halted: int = 0
    """The event that last stopped everything: beats from before it have no effects any more."""
    speed: float = 1.0
    agents: dict[int, Agent] = {}
    rooms: dict[int, Room] = {}
    messages: dict[int, Message] = {}
    requests: dict[int, Request] = {}
    next_message: int = 1
    next_request: int = 1
    next_agent: int = 1
    beats: int = 0
    cost: float = 0.0
    failures: dict[int, list[int]] = {}
    """Times of wrong keys, by agent; those of the last minute count."""
    locks: dict[int, list[int]] = {}
    """The same by room."""
    wakes: dict[int, list[int]] = {}
    holes: bool = False
    """Whether an event was redacted, or of a newer kind: what rests on it is passed over."""
