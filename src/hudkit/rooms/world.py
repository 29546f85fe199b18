"""The state of a world and its rules: agents, rooms, messages, requests, folded from the log's events one by one.

A world is large and changes a thousand times a second, so its state is changed in place, and only by
`fold_log.apply_event`. The same events in the same order give the same world, which is what tests compare.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hudkit.rooms import world_events as e
from hudkit.rooms.agent_names import NameIndex

# Upper bounds are finite although nobody will reach them: JSON has no infinity, and rules are stored as JSON.
_Fraction = Annotated[float, Meta(ge=0, le=1)]
_Amount = Annotated[float, Meta(ge=0, le=1e9)]
_PositiveAmount = Annotated[float, Meta(gt=0, le=1e9)]
_Count = Annotated[int, Meta(ge=0, le=10**9)]
_PositiveCount = Annotated[int, Meta(ge=1, le=10**9)]


def _check_order(table: str, **bounds: float) -> None:
    """Raise `ValueError` where the first bound is above the second. Names are those of the world file."""
    (low_name, low), (high_name, high) = bounds.items()
    if low > high:
        raise ValueError(f"{table}: {low_name} is {low:g}, and {high_name} is {high:g}")


# -- rules: the numbers of a world. Defaults are 003's, where 003 has one. ----------------------------------------


class IntervalRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds between beats: the bounds, the step of a thumb, and how much every beat drifts to the slowest."""

    min_interval: _PositiveAmount = msgspec.field(default=1.0, name="least")
    max_interval: _PositiveAmount = msgspec.field(default=10.0, name="most")
    step: _Amount = 0.5
    decay: _Amount = 0.1
    first: _PositiveAmount = 5.0
    jitter: _Fraction = 0.1
    """The largest part of an interval by which a beat is early or late, so that agents do not beat in step."""
    quiet: _Amount = 300.0
    """Seconds after which an agent beats although its HUD has nothing new; 0: never."""
    looping: _Amount = 60.0
    """Seconds for which two agents that repeat themselves to each other are held up; 0: not at all."""

    def __post_init__(self) -> None:
        _check_order("tempo", least=self.min_interval, most=self.max_interval)


class WordRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much may be said: elapsed seconds x words a minute / 60, within bounds; the first message has its own."""

    wpm: Annotated[int, Meta(ge=1)] = 80
    min_wpm: Annotated[int, Meta(ge=1)] = msgspec.field(default=10, name="least_wpm")
    max_wpm: Annotated[int, Meta(ge=1)] = msgspec.field(default=200, name="most_wpm")
    min_words: Annotated[int, Meta(ge=0)] = msgspec.field(default=10, name="least")
    max_words: Annotated[int, Meta(ge=1)] = msgspec.field(default=200, name="most")
    first: Annotated[int, Meta(ge=1)] = 200
    room_wpm: Annotated[int, Meta(ge=0)] = 0
    """Words a minute that all agents together may say in one room; 0: as much as their own paces allow (003)."""

    def __post_init__(self) -> None:
        _check_order("words", least=self.min_words, most=self.max_words)
        _check_order("words", least_wpm=self.min_wpm, most_wpm=self.max_wpm)


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
    base_share: Annotated[float, Meta(ge=0.1, le=0.9)] = 0.5
    """The share of the rooms' tokens that a new base fills; the rest is for what is said after it. A greater one
    shows more of the past, and is used up, and paid for anew, sooner."""

    def __post_init__(self) -> None:
        _check_order("tokens", messages=self.messages, total=self.total)


class CapRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What nobody may exceed."""

    name: _PositiveCount = 50
    """Characters of a name."""
    message: _PositiveCount = 4_000
    """Characters of a message, a billboard or a background."""
    depth: _Count = 1
    """How far from the Architect an agent may be that makes agents: 1, those whom the Architect let."""
    agents_of: _Count = 8
    """Living agents that one agent may have made."""
    keys: _Count = 20
    """Keys of one room."""
    guesses: _PositiveCount = 5
    """Wrong keys a minute: of one agent, before it may try no more for a minute; and for one room, before one wrong
    key is enough for that."""
    wakes: _Count = 6
    """Agents that one agent may wake in a minute."""
    beats_without_people: _Count = 0
    """Beats after which a world in which the Architect says nothing pauses by itself; 0: never."""
    cost: _Amount = 5.0
    """Dollars after which a world pauses by itself; 0: never."""
    pending: _PositiveCount = 5
    """Messages of one agent that may wait in one room for its pace."""
    idle_seconds: _Amount = 0.0
    """Seconds without anything new after which it does; 0: never."""


class WorldRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that a world may set for itself. Stored in its log, so keys are for ever."""

    tempo: IntervalRules = IntervalRules()
    words: WordRules = WordRules()
    tokens: TokenRules = TokenRules()
    caps: CapRules = CapRules()
    tools: dict[Annotated[str, Meta(pattern=r"^\w{1,40}$")], Annotated[str, Meta(max_length=400)]] = {}
    """Actions of the world's own, which a game master carries out: by name, what each does and takes."""


# -- state ---------------------------------------------------------------------------------------------------------
# `hudkit rooms show --json` prints these structs: a renamed attribute keeps the name that it has there.
# `gc=False` marks what a world has by the thousand and what never holds a reference back to its holder: the garbage
# collector need not walk it.


class RecentAction(msgspec.Struct, gc=False):
    """An action of an agent's, as it sees it afterwards; `why` where it was refused."""

    happened_at: int = msgspec.field(name="at")
    action: dict[str, Any]
    why: str = ""


SILENT_BEATS = 3
"""Beats in a row without an effect, of an agent that was addressed, from which on people are told."""


class HudBase(msgspec.Struct, frozen=True):
    """What the beginning of an agent's HUDs shows, from one beat on until something in it is no longer true or there
    is no more space behind it: the world after event `seq`, with messages up to number `upto`.

    `budget` is how many tokens rooms have in it.
    """

    seq: int
    composed_at: int
    upto: int
    budget: int
    knowledge: dict[str, Any] = {}
    weights: dict[str, float] = {}


class AgentState(msgspec.Struct):
    """An agent: what it is, when it beats, what it knows, and where it is. Times are Unix ms."""

    id: int
    kind: e.AgentKind
    name: str
    background: str
    model: str
    by: int = 0
    """Who made it; 0: the Architect."""
    depth: int = 0
    can_create: bool = False
    input_format: e.HudFormat = "json"
    output_format: str = "json"
    interval: float = 5.0
    """Seconds between its beats now."""
    created_at: int = msgspec.field(default=0, name="born")
    retired: bool = False
    sleeps_until: int = 0
    throttled_until: int = msgspec.field(default=0, name="slowed_until")
    """It was found in a loop with another agent: before that, only the Architect wakes it."""
    woken: bool = False
    due: int = 0
    beats: int = 0
    """How many beats it had: the number of the last one."""
    current_beat: int = msgspec.field(default=0, name="beating")
    """The number of the beat that is under way; 0: none."""
    last_beat: int = 0
    last_error: str = ""
    knowledge: dict[str, Any] = {}
    weights: dict[str, float] = {}
    """Of paths in its knowledge, where it gave one."""
    attention: dict[int, float] = {}
    """Percent by room, where it is fixed; other rooms share what is left."""
    rooms: list[int] = []
    """In the order in which it came."""
    recent: list[RecentAction] = []
    answers: e.AnswerSettings = e.PLAYER_SETTINGS
    spoke_at: dict[int, int] = msgspec.field(default_factory=dict, name="spoke")
    """When it last said something, by room."""
    pending: list[int] = []
    """Its messages that wait for the pace of their rooms (`World.pending`), in the order in which they are due."""
    changed_seq: int = msgspec.field(default=0, name="changed")
    """The number of the last event that its HUD shows; a beat whose HUD would show nothing new is skipped."""
    seen_seq: int = msgspec.field(default=0, name="seen")
    """The last event before its last beat."""
    base: HudBase | None = None
    """What its HUDs begin with."""
    outdated_seq: int = 0
    """The last event by which something in a base before it was no longer true."""
    heard_in: list[int] = []
    """Rooms in which it ever said something: its name stands there."""
    addressed: bool = False
    """It was named, answered, woken, or the Architect spoke to its room, and nothing came of it yet."""
    silent_beats: int = 0
    """Beats in a row since then in which it said and did nothing."""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    home: int = 0
    """The partition in which it has its beats; 0: this one."""


class RoomKey(msgspec.Struct):
    """A key of a room, of which only a salted digest is stored."""

    label: str
    digest: str
    salt: str
    uses: int = 0
    """How often it may be used yet; 0: without limit."""


class RoomState(msgspec.Struct):
    """The room of the agent with the same number."""

    id: int
    wpm: int
    billboard: str = ""
    members: list[int] = []
    joined_after: dict[int, int] = msgspec.field(default_factory=dict, name="joined")
    """The last message's number when a member came: that one and earlier ones it does not see."""
    keys: list[RoomKey] = []
    messages: list[int] = []
    reactions: int = 0
    """Those to its messages: what was counted of them holds as long as there are no more."""
    requests: list[int] = []
    """Those that are open."""
    last_sender: int = 0
    """Who sent its last message; `last_seq` is the event, `other_seq` that of the last one by anybody else."""
    last_seq: int = 0
    other_seq: int = 0


class RoomMessage(msgspec.Struct, gc=False):
    """A message in a room."""

    id: int
    room: int
    sender: int
    content: str
    kind: str
    reply_to: int
    words: int
    posted_at: int = msgspec.field(name="at")
    reactions: dict[str, list[int]] = {}
    """Who reacted so."""
    version: int = 0
    """Counts its changes: what was counted of it holds as long as this is the same."""


class PendingMessage(msgspec.Struct, frozen=True, gc=False):
    """A message that is posted when it is `due` (Unix ms); `number` is the beat that said it."""

    id: int
    room: int
    sender: int
    content: str
    due: int
    reply_to: int = 0
    words: int = 0
    number: int = 0


class AccessRequest(msgspec.Struct):
    """A request to come into a room that is open."""

    id: int
    room: int
    agent: int
    label: str
    requested_at: int = msgspec.field(name="at")


class World(msgspec.Struct, dict=True):
    """Everything that is true of a world after event `seq`."""

    name: str = ""
    seed: int = 0
    rules: WorldRules = WorldRules()
    prompts: dict[str, str] = {}
    seq: int = 0
    now: int = 0
    """The time of the last event (Unix ms); clocks go backwards, this does not."""
    created_at: int = msgspec.field(default=0, name="begun")
    """The time of its first event."""
    paused: str | None = None
    """Why it is paused; `None`: it is not."""
    halted_seq: int = msgspec.field(default=0, name="halted")
    """The event that last stopped everything: beats from before it have no effects any more."""
    speed: float = 1.0
    agents: dict[int, AgentState] = {}
    rooms: dict[int, RoomState] = {}
    messages: dict[int, RoomMessage] = {}
    requests: dict[int, AccessRequest] = {}
    pending: dict[int, PendingMessage] = {}
    revision: int = 1
    """See `world_events.REVISION`."""
    next_message: int = 1
    next_pending: int = 1
    next_request: int = 1
    next_agent: int = 1
    beats: int = 0
    cost: float = 0.0
    failures: dict[int, list[int]] = {}
    """Times of wrong keys, by agent; those of the last minute count."""
    locks: dict[int, list[int]] = {}
    """The same by room."""
    wakes: dict[int, list[int]] = {}
    """Times at which an agent woke others."""
    holes: bool = False
    """Whether an event was redacted, or of a newer kind: what rests on it is passed over."""
    partitions: int = 0
    """In how many partitions the whole world is; 0: it is all here. `partition` is which one this is: 0 is the
    Architect's, that of the whole."""
    partition: int = 0
    received: int = 0
    """The last entry of this partition's inbox that was taken up."""
    heard: dict[int, dict[int, int]] = {}
    """Numbers here of messages that were said in other partitions, by partition and number there."""
    origins: dict[int, tuple[int, int]] = {}
    """The same the other way round."""

    @cached_property
    def living_names(self) -> NameIndex:
        """Return the agents that are not retired by what their names look like.

        Made when it is first asked for, and kept true by `note_name` from then on. It is no field: what is saved
        would hold what looked alike to an earlier version.
        """
        return NameIndex((agent.id, agent.name) for agent in self.agents.values() if not agent.retired)

    def note_name(self, id: int, before: str = "", after: str = "") -> None:
        """Keep `living_names` true: agent `id` was called `before` and is called `after` now; empty: not at all."""
        # Most who read a world never ask for a new name: they need no index.
        if "living_names" not in vars(self):
            return
        if before:
            self.living_names.remove(id, before)
        if after:
            self.living_names.add(id, after)

    def become(self, other: World) -> None:
        """Take over all that is true of another world; whoever holds this one sees that."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(other, name))
        vars(self).clear()
