"""The events of a world's log: everything that can happen among agents, rooms and time, as frozen structs.

The union below also defines the words. An agent and its room have the same number: room 8 is agent 8's. Number 0 is
the Architect, the person. Messages and requests are numbered by the world. Times are Unix milliseconds and come from
outside.

Tags and field names are stored in logs that must open for ever. A class or an attribute may be renamed; its tag and
its stored field name (`msgspec.field(name=…)`) may not. Source of the concepts: document 003.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import msgspec
from msgspec import Meta

from hudkit.log import Event, Unknown
from hudkit.log.payloads import Payload
from hudkit.models import Effort

AgentKind: TypeAlias = Literal["persona", "bot"]
HudFormat: TypeAlias = Literal["json", "compact", "toon"]
Reaction: TypeAlias = Literal["thumbs_up", "thumbs_down", "brain", "heart"]

ARCHITECT = 0
"""The number of the person."""
SYSTEM = -1
"""The sender of what no agent said: joins, requests, notices."""


REVISION = 2
"""How worlds that are made now pace messages and lay out HUDs. A world keeps the revision that it was made with, so
that its log gives the same HUDs for ever. 2: what exceeds the pace waits instead of being refused, and a HUD goes on
from its base, so that it begins like the one before."""


class AnswerSettings(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How a model answers for an agent; what is `None` or empty is left to the player. `max_output` is in tokens."""

    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    effort: Effort = ""
    max_output: Annotated[int, Meta(ge=1)] | None = None


PLAYER_SETTINGS = AnswerSettings()
"""Everything is left to the player."""


class WorldEvent(Payload, frozen=True, omit_defaults=True):
    """Base of all events of a world."""


# -- the world -------------------------------------------------------------------------------------------------


class WorldCreated(WorldEvent, frozen=True, tag="world.made"):
    """The first event: the seed of all chance, the rules as plain data (`WorldRules`), and the prompts by name.

    `forked_from` and `forked_at` name the world and the event that a fork was taken from. `revision` is `REVISION` as
    it was when the world was made. A world in `partitions` has a log for each of them, with its number in
    `partition`, and number 0 for what the Architect does; 0 `partitions`: the world is whole.
    """

    name: str
    seed: int
    rules: Mapping[str, Any] = {}
    prompts: Mapping[str, str] = {}
    forked_from: str = ""
    forked_at: int = 0
    revision: int = 1
    partitions: int = 0
    partition: int = 0


class RulesChanged(WorldEvent, frozen=True, tag="world.rules"):
    """All rules of the world, as plain data, from here on."""

    rules: dict[str, Any]


class PromptsChanged(WorldEvent, frozen=True, tag="world.prompts"):
    """New texts of some prompts, by name; the other prompts stay."""

    prompts: dict[str, str]


class WorldPaused(WorldEvent, frozen=True, tag="world.paused"):
    """No beat begins from here on, and beats under way have no effects; with `ending` these may still end.

    `why` says who or what paused it: the Architect, idle, cost.
    """

    why: str = ""
    ending: bool = False


class WorldResumed(WorldEvent, frozen=True, tag="world.resumed"):
    """Beats begin again."""


class SpeedSet(WorldEvent, frozen=True, tag="world.speed"):
    """The world's time runs `factor` times as fast as the clock."""

    factor: float


class InterventionMade(WorldEvent, frozen=True, tag="experiment.intervened"):
    """An experiment changed something from outside: its intervention of this number, in words.

    What it did is in the events behind it, in the same transaction. An event of its own, so that a run that goes on
    after a kill does nothing twice.
    """

    number: int
    text: str


# -- agents ----------------------------------------------------------------------------------------------------


class AgentCreated(WorldEvent, frozen=True, tag="agent.made"):
    """A new agent, with the room of the same number.

    `background` is a persona's seed or a bot's role. `interval` is in seconds between beats. `by` is who made it (0:
    the Architect), and `depth` is how many makers stand between it and the Architect. `home` is the partition in
    which it has its beats; 0: this one.
    """

    id: int
    kind: AgentKind
    name: str
    background: str
    model: str
    by: int = ARCHITECT
    depth: int = 0
    can_create: bool = False
    input_format: HudFormat = "json"
    output_format: Literal["json", "toon"] = "json"
    interval: float = 5.0
    first_due: int = 0
    answers: AnswerSettings = PLAYER_SETTINGS
    home: int = 0


class AgentAltered(WorldEvent, frozen=True, tag="agent.altered"):
    """New values of an agent's fields; a field that is `None` stays."""

    id: int
    by: int = ARCHITECT
    name: str | None = None
    background: str | None = None
    model: str | None = None
    can_create: bool | None = None
    input_format: HudFormat | None = None
    output_format: Literal["json", "toon"] | None = None
    answers: AnswerSettings | None = None


class AgentRetired(WorldEvent, frozen=True, tag="agent.retired"):
    """The agent has no more beats. Its room stays readable, and is closed."""

    id: int
    by: int = ARCHITECT


class AgentSlept(WorldEvent, frozen=True, tag="agent.slept"):
    """The agent has no beats before `until`, unless somebody wakes it."""

    id: int
    until: int


class AgentWoken(WorldEvent, frozen=True, tag="agent.woken"):
    """The agent's next beat is due at `due`: at once, but not sooner than the world's shortest interval allows.

    `why` is wake_agent, mention, reply, admission, or another model.
    """

    id: int
    by: int
    why: str
    due: int


class IntervalSet(WorldEvent, frozen=True, tag="agent.tempo"):
    """Seconds between beats as the Architect sets them; reactions and decay change them without an event."""

    id: int
    interval: float


class BeatScheduled(WorldEvent, frozen=True, tag="agent.due"):
    """The agent's next beat is due at `due`, sooner or later than it was."""

    id: int
    due: int


class AgentThrottled(WorldEvent, frozen=True, tag="agent.slowed"):
    """The agent and the agent `other` repeat themselves in a room: until `until`, no agent brings its beats
    forward."""

    id: int
    other: int
    room: int
    until: int


# -- rooms and messages ----------------------------------------------------------------------------------------


class RoomJoined(WorldEvent, frozen=True, tag="room.joined"):
    """An agent (0: the Architect) came into a room; `by` let it in."""

    room: int
    agent: int
    by: int = ARCHITECT


class RoomLeft(WorldEvent, frozen=True, tag="room.left"):
    """An agent (0: the Architect) left a room."""

    room: int
    agent: int


class MessagePosted(WorldEvent, frozen=True, tag="message.said"):
    """A message with the world's next number. `words` counts against the sender's word budget.

    `pending` is the number that it had while it waited for the pace (`MessageDelayed`); 0: it did not.
    """

    id: int
    room: int
    sender: int
    content: str
    kind: Literal["text", "system"] = "text"
    reply_to: int = 0
    words: int = 0
    pending: int = 0


class MessageDelayed(WorldEvent, frozen=True, tag="message.delayed"):
    """A message that exceeds its author's pace in a room: it is posted when it is `due`, unless it is withdrawn.

    `id` is a number of its own, among those that wait; `number` is the beat that said it.
    """

    id: int
    room: int
    sender: int
    content: str
    due: int
    reply_to: int = 0
    words: int = 0
    number: int = 0


class MessageWithdrawn(WorldEvent, frozen=True, tag="message.withdrawn"):
    """A message that waited is not posted. `why` where its author did not take it back."""

    id: int
    why: str = ""


class ReactionAdded(WorldEvent, frozen=True, tag="message.reacted"):
    """An agent reacted to a message."""

    message: int
    agent: int
    reaction: Reaction


class BillboardSet(WorldEvent, frozen=True, tag="room.billboard"):
    """A room's billboard; an empty text takes it down. `by`: who did it, where it was not the room's own agent."""

    room: int
    text: str
    by: int | None = None


class WpmSet(WorldEvent, frozen=True, tag="room.wpm"):
    """A room's pace in words a minute."""

    room: int
    wpm: int


# -- access ----------------------------------------------------------------------------------------------------


class KeyCreated(WorldEvent, frozen=True, tag="key.made"):
    """A key of a room: its label, and a digest (BLAKE2b, keyed with `salt`) of the key, which is shown once.

    `uses` is how often it opens the room (0: without limit). `by`: who made it, where it was not the room's own
    agent.
    """

    room: int
    label: str
    digest: str
    salt: str
    uses: int = 0
    by: int | None = None


class KeyRevoked(WorldEvent, frozen=True, tag="key.revoked"):
    """A key of a room opens it no more. `by`: who revoked it, where it was not the room's own agent."""

    room: int
    label: str
    by: int | None = None


class AccessRequested(WorldEvent, frozen=True, tag="access.asked"):
    """A request to come into a room, with the world's next request number and a key that fits."""

    id: int
    room: int
    agent: int
    label: str


class AccessGranted(WorldEvent, frozen=True, tag="access.granted"):
    """A request was granted; `RoomJoined` follows."""

    id: int
    by: int


class AccessDenied(WorldEvent, frozen=True, tag="access.denied"):
    """A request was denied."""

    id: int
    by: int


class AccessFailed(WorldEvent, frozen=True, tag="access.failed"):
    """A request for no room, or with no key that fits. `locked`: it was one too many within a minute."""

    room: int
    agent: int
    locked: bool = False


# -- memory ----------------------------------------------------------------------------------------------------


class KnowledgeSet(WorldEvent, frozen=True, tag="knowledge.set"):
    """A value at a path of an agent's memory. `by`: who wrote it, where it was not the agent."""

    agent: int
    path: str
    value: Any
    weight: float | None = None
    by: int | None = None


class KnowledgeDeleted(WorldEvent, frozen=True, tag="knowledge.deleted"):
    """What is at a path of an agent's memory goes."""

    agent: int
    path: str


class KnowledgeAppended(WorldEvent, frozen=True, tag="knowledge.appended"):
    """One more value at the end of a list in an agent's memory."""

    agent: int
    path: str
    value: Any


class AttentionSet(WorldEvent, frozen=True, tag="attention.set"):
    """Percent of an agent's messages that are of this room; `None`: an equal share of what is left (`%*`)."""

    agent: int
    room: int
    percent: float | None


# -- beats -----------------------------------------------------------------------------------------------------


class BeatBegun(WorldEvent, frozen=True, tag="beat.begun"):
    """An agent was asked: its HUD was composed at `composed_at` from the state before this event.

    `hud` is the digest of the bytes that it saw (empty where none could be composed), `tokens` are those of the HUD.
    `due` is when the beat should have begun. `base` is set where the HUD has a new base: the tokens that the rooms
    may have there. Without it, the HUD goes on from the base of an earlier beat. `closing`: that its player was told
    `players.closing` behind the HUD, of that revision; 0: nothing, or it was before events said so.
    """

    HAS_WORDS: ClassVar[bool] = False

    agent: int
    number: int
    composed_at: int = msgspec.field(name="at")
    due: int
    hud: str
    tokens: int
    format: HudFormat
    model: str
    base: int = 0
    closing: int = 0


class ReplyReceived(WorldEvent, frozen=True, tag="beat.replied"):
    """What came back, word for word, or the error that came instead.

    Tokens are the provider's, cost is in dollars.
    """

    agent: int
    number: int
    text: str = ""
    error: str = ""
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0


class ActionApplied(WorldEvent, frozen=True, tag="action.applied"):
    """An action of a reply was carried out. The events that follow in the same transaction are its effects."""

    agent: int
    number: int
    action: dict[str, Any]


class ActionRefused(WorldEvent, frozen=True, tag="action.refused"):
    """An action, or a whole reply, was not carried out; its agent reads `why` in its next HUD."""

    agent: int
    number: int
    action: dict[str, Any]
    why: str


class BeatFinished(WorldEvent, frozen=True, tag="beat.done"):
    """A beat is over, whatever became of it; the agent's next beat is due at `due`."""

    HAS_WORDS: ClassVar[bool] = False

    agent: int
    number: int
    due: int


# -- partitions ------------------------------------------------------------------------------------------------


class RoomMirrored(WorldEvent, frozen=True, tag="partition.room"):
    """A room of another partition of which an agent of this one becomes a member: as it is now. What was said there
    before stays there."""

    room: int
    wpm: int
    billboard: str = ""
    members: tuple[int, ...] = ()


class EventRelayed(WorldEvent, frozen=True, tag="partition.sent"):
    """An event of another partition's log that concerns this one, in the inbox of this one.

    `source` is the partition (0: the Architect), `seq` the event's number there, `event` its plain data. `message`
    is the message that it refers to: the partition in which that was said, and its number there. `introduced` are
    agents and rooms that it may need, as events.
    """

    source: int
    seq: int
    event: dict[str, Any]
    message: tuple[int, int] | None = None
    introduced: tuple[dict[str, Any], ...] = ()


class EventReceived(WorldEvent, frozen=True, tag="partition.received"):
    """Entry `number` of this partition's inbox was taken up: the next `count` events are what came of it here.

    `source` and `seq` say which event of which partition that was. `ids` are the numbers there of the messages that
    follow; each partition numbers what it hears for itself.
    """

    number: int
    source: int
    seq: int
    count: int = 0
    ids: tuple[int, ...] = ()


EVENT_TYPES: dict[str, type[WorldEvent]] = {
    str(event_type.__struct_config__.tag): event_type for event_type in WorldEvent.__subclasses__()
}
"""Every event type of a world by its stored tag."""

# One decoder a type, made once: a log is read event by event, and making a decoder costs more than using it.
_decoders = {tag: msgspec.json.Decoder(event_type).decode for tag, event_type in EVENT_TYPES.items()}


def decode_world_event(event: Event) -> WorldEvent | None:
    """Return the world event that an event of a log holds; `None` for another kind, a newer version, or a redacted
    one.

    Raises `msgspec.DecodeError` where the bytes are not what their type says.
    """
    payload = event.payload
    if isinstance(payload, WorldEvent):
        return payload
    if isinstance(payload, Unknown) and payload.type in _decoders and payload.v <= EVENT_TYPES[payload.type].V:
        return _decoders[payload.type](payload.body)
    return None
