"""What is true of a world: agents, rooms, messages, requests, folded from its events one by one.

A world is large and changes a thousand times a second, so its state is changed in place, and only by `folding.apply`:
the same events in the same order give the same world, which is what tests compare.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hudkit.rooms import world_events as e

Share = Annotated[float, Meta(ge=0, le=1)]
Amount = Annotated[float, Meta(ge=0, le=1e9)]  # no infinity: JSON has none
Positive = Annotated[float, Meta(gt=0, le=1e9)]
Count = Annotated[int, Meta(ge=0, le=10**9)]
Least = Annotated[int, Meta(ge=1, le=10**9)]


def _in_order(table: str, **bounds: float) -> None:
    """Raise `ValueError` where a lower bound is above the upper one."""
    (low, least), (high, most) = bounds.items()
    if least > most:
        raise ValueError(f"{table}: {low} is {least:g}, and {high} is {most:g}")


class IntervalRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds between beats: the bounds, the step of a thumb, and how much every beat drifts to the slowest."""

    least: Positive = 1.0
    most: Positive = 10.0
    step: Amount = 0.5
    decay: Amount = 0.1
    first: Positive = 5.0
    jitter: Share = 0.1
    """The largest part of an interval by which a beat is early or late, so that agents do not beat in step."""
    quiet: Amount = 300.0
    """Seconds after which an agent beats although its HUD has nothing new; 0: never."""
    looping: Amount = 60.0
    """Seconds for which two agents that repeat themselves to each other are held up; 0: not at all."""

    def __post_init__(self) -> None:
        _in_order("tempo", least=self.least, most=self.most)


class WordRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much may be said: elapsed seconds x words a minute / 60, within bounds; the first message has its own."""

    wpm: Annotated[int, Meta(ge=1)] = 80
    least_wpm: Annotated[int, Meta(ge=1)] = 10
    most_wpm: Annotated[int, Meta(ge=1)] = 200
    least: Annotated[int, Meta(ge=0)] = 10
    most: Annotated[int, Meta(ge=1)] = 200
    first: Annotated[int, Meta(ge=1)] = 200
    room_wpm: Annotated[int, Meta(ge=1)] = 400
    """Words a minute that all agents together may say in one room: a storm of replies stays within it."""

    def __post_init__(self) -> None:
        _in_order("words", least=self.least, most=self.most)
        _in_order("words", least_wpm=self.least_wpm, most_wpm=self.most_wpm)


class TokenRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The budget of a HUD in tokens (003)."""

    total: Annotated[int, Meta(ge=500)] = 10_000
    static: Annotated[int, Meta(ge=250)] = 5_000
    messages: Annotated[int, Meta(ge=250)] = 5_000
    knowledge: Annotated[int, Meta(ge=100)] = 3_000
    metadata: Annotated[int, Meta(ge=100)] = 200
    """What a room may say of itself (members, billboard, requests), or half of its share where that is more."""
    actions: Annotated[int, Meta(ge=0)] = 20
    """Recent actions that an agent sees."""

    def __post_init__(self) -> None:
        _in_order("tokens", messages=self.messages, total=self.total)


class CapRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What nobody may exceed."""

    name: Least = 50
    message: Least = 4_000
    """Characters of a message, a billboard or a background."""
    depth: Count = 1
    """How far from the Architect an agent may be that makes agents: 1, those whom the Architect let."""
    agents_of: Count = 8
    """Living agents that one agent may have made."""
    keys: Count = 20
    guesses: Least = 5
    """Wrong keys a minute: of one agent, before it may try no more for a minute; and for one room, before one wrong
    key is enough for that."""
    wakes: Count = 6
    """Agents that one agent may wake in a minute."""
    beats_without_people: Count = 0
    """Beats after which a world in which the Architect says nothing pauses by itself; 0: never."""
    cost: Amount = 0.0
    """Dollars after which a world pauses by itself; 0: never."""
    idle_seconds: Amount = 0.0
    """Seconds without anything new after which it does; 0: never."""


class WorldRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that a world may set for itself."""

    tempo: IntervalRules = IntervalRules()
    words: WordRules = WordRules()
    tokens: TokenRules = TokenRules()
    caps: CapRules = CapRules()


class RecentAction(msgspec.Struct, gc=False):
    """An action of an agent's, as it sees it afterwards; `why` where it was refused."""

    at: int
    action: dict[str, Any]
    why: str = ""


class AgentState(msgspec.Struct):
    id: int
    kind: e.AgentKind
    name: str
    background: str
    model: str
    by: int = 0
    depth: int = 0
    can_create: bool = False
    input_format: e.HudFormat = "json"
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
    recent: list[RecentAction] = []
    spoke: dict[int, int] = {}
    """When it last said something, by room (Unix ms)."""
    changed: int = 0
    """The number of the last event that its HUD shows; a beat whose HUD would show nothing new is skipped."""
    seen: int = 0
    """The last event before its last beat."""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0


class RoomKey(msgspec.Struct):
    label: str
    digest: str
    salt: str
    uses: int = 0
    """How often it may be used yet; 0: as often as one likes."""


class RoomState(msgspec.Struct):
    """The room of the agent with the same number."""

    id: int
    wpm: int
    billboard: str = ""
    members: list[int] = []
    joined: dict[int, int] = {}
    """The last message's number when a member came: earlier ones it does not see."""
    keys: list[RoomKey] = []
    messages: list[int] = []
    reactions: int = 0
    """Those to its messages: what was counted of them holds as long as there are no more."""
    requests: list[int] = []
    """Those that are open."""


class RoomMessage(msgspec.Struct, gc=False):
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


class AccessRequest(msgspec.Struct):
    """One that is open."""

    id: int
    room: int
    agent: int
    label: str
    at: int


class World(msgspec.Struct):
    name: str = ""
    seed: int = 0
    rules: WorldRules = WorldRules()
    prompts: dict[str, str] = {}
    seq: int = 0
    now: int = 0
    """The time of the last event (Unix ms); clocks go backwards, this does not."""
    begun: int = 0
    paused: str | None = None
    halted: int = 0
    """The event that last stopped everything: beats from before it have no effects any more."""
    speed: float = 1.0
    agents: dict[int, AgentState] = {}
    rooms: dict[int, RoomState] = {}
    messages: dict[int, RoomMessage] = {}
    requests: dict[int, AccessRequest] = {}
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
