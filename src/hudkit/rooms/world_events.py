"""The words of a world's log: what happens among agents, rooms and time, as frozen structs.

Agents and rooms have the same numbers: room 8 is agent 8's. 0 is the Architect, the person. Messages and requests are
numbered by the world. Times are Unix milliseconds and come from outside. Source of the things: 003.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from hudkit.log import Event, Unknown
from hudkit.log.payload import Payload

AgentKind: TypeAlias = Literal["persona", "bot"]
HudFormat: TypeAlias = Literal["json", "compact", "toon"]
Reaction: TypeAlias = Literal["thumbs_up", "thumbs_down", "brain", "heart"]

ARCHITECT = 0
"""The person."""
SYSTEM = -1
"""Who says what no agent said: joins, requests, notices."""


class WorldEvent(Payload, frozen=True, omit_defaults=True):
    """Root of a world's events."""


# -- the world -------------------------------------------------------------------------------------------------


class WorldCreated(WorldEvent, frozen=True, tag="world.made"):
    """The first event: the seed of all chance, the rules as plain data (`rules.Rules`), and the prompts by name."""

    name: str
    seed: int
    rules: Mapping[str, Any] = {}
    prompts: Mapping[str, str] = {}
    forked_from: str = ""
    forked_at: int = 0


class RulesChanged(WorldEvent, frozen=True, tag="world.rules"):
    rules: dict[str, Any]


class PromptsChanged(WorldEvent, frozen=True, tag="world.prompts"):
    """These prompts are so from now on; the others stay."""

    prompts: dict[str, str]


class WorldPaused(WorldEvent, frozen=True, tag="world.paused"):
    """No beat begins from here on, and those under way have no effects; `ending`: these may end. `why`: the
    Architect, idle, cost."""

    why: str = ""
    ending: bool = False


class WorldResumed(WorldEvent, frozen=True, tag="world.resumed"):
    pass


class SpeedSet(WorldEvent, frozen=True, tag="world.speed"):
    """The world's time runs so many times as fast as the clock."""

    factor: float


# -- agents ----------------------------------------------------------------------------------------------------


class AgentCreated(WorldEvent, frozen=True, tag="agent.made"):
    """An agent with the room of the same number. `background` is a persona's seed or a bot's role; `interval` are
    seconds between beats; `by` made it (0: the Architect), at `depth` of makers below the Architect."""

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


class AgentAltered(WorldEvent, frozen=True, tag="agent.altered"):
    """What is not `None` is so from now on."""

    id: int
    by: int = ARCHITECT
    name: str | None = None
    background: str | None = None
    model: str | None = None
    can_create: bool | None = None
    input_format: HudFormat | None = None
    output_format: Literal["json", "toon"] | None = None


class AgentRetired(WorldEvent, frozen=True, tag="agent.retired"):
    """It beats no more; its room stays readable, and closed."""

    id: int
    by: int = ARCHITECT


class AgentSlept(WorldEvent, frozen=True, tag="agent.slept"):
    id: int
    until: int


class AgentWoken(WorldEvent, frozen=True, tag="agent.woken"):
    """Its next beat is due at once (at the world's least interval). `why`: wake_agent, mention, reply, admission,
    another model."""

    id: int
    by: int
    why: str
    due: int


class IntervalSet(WorldEvent, frozen=True, tag="agent.tempo"):
    """Seconds between beats, as the Architect sets them; reactions and decay change them by themselves."""

    id: int
    interval: float


class BeatScheduled(WorldEvent, frozen=True, tag="agent.due"):
    """Its next beat is due then, sooner or later than it was."""

    id: int
    due: int


class AgentThrottled(WorldEvent, frozen=True, tag="agent.slowed"):
    """It and the agent `other` repeat themselves in a room: until then, no agent brings its beats forward."""

    id: int
    other: int
    room: int
    until: int


# -- rooms and messages ----------------------------------------------------------------------------------------


class RoomJoined(WorldEvent, frozen=True, tag="room.joined"):
    room: int
    agent: int
    by: int = ARCHITECT


class RoomLeft(WorldEvent, frozen=True, tag="room.left"):
    room: int
    agent: int


class MessagePosted(WorldEvent, frozen=True, tag="message.said"):
    """A message with the world's next number. `kind` is text or system."""

    id: int
    room: int
    sender: int
    content: str
    kind: Literal["text", "system"] = "text"
    reply_to: int = 0
    words: int = 0


class ReactionAdded(WorldEvent, frozen=True, tag="message.reacted"):
    message: int
    agent: int
    reaction: Reaction


class BillboardSet(WorldEvent, frozen=True, tag="room.billboard"):
    """Empty: taken down. `by`: who else than the room's agent did it; the same below."""

    room: int
    text: str
    by: int | None = None


class WpmSet(WorldEvent, frozen=True, tag="room.wpm"):
    room: int
    wpm: int


# -- access ----------------------------------------------------------------------------------------------------


class KeyCreated(WorldEvent, frozen=True, tag="key.made"):
    """A key of a room: its label, and a digest (BLAKE2b, keyed with `salt`) of the key, which is shown once."""

    room: int
    label: str
    digest: str
    salt: str
    uses: int = 0
    by: int | None = None


class KeyRevoked(WorldEvent, frozen=True, tag="key.revoked"):
    room: int
    label: str
    by: int | None = None


class AccessRequested(WorldEvent, frozen=True, tag="access.asked"):
    """A request with the world's next number, with a key that fits."""

    id: int
    room: int
    agent: int
    label: str


class AccessGranted(WorldEvent, frozen=True, tag="access.granted"):
    id: int
    by: int


class AccessDenied(WorldEvent, frozen=True, tag="access.denied"):
    id: int
    by: int


class AccessFailed(WorldEvent, frozen=True, tag="access.failed"):
    """A request with no room or no key that fits. `locked`: it was one too many in a minute."""

    room: int
    agent: int
    locked: bool = False


# -- memory ----------------------------------------------------------------------------------------------------


class KnowledgeSet(WorldEvent, frozen=True, tag="knowledge.set"):
    agent: int
    path: str
    value: Any
    weight: float | None = None
    by: int | None = None


class KnowledgeDeleted(WorldEvent, frozen=True, tag="knowledge.deleted"):
    agent: int
    path: str


class KnowledgeAppended(WorldEvent, frozen=True, tag="knowledge.appended"):
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
    """An agent was asked: `hud` is the digest of the bytes that it saw, composed at `at` from the state before this
    event. `due` was when it should have been; `tokens` are those of the HUD."""

    agent: int
    number: int
    at: int
    due: int
    hud: str
    tokens: int
    format: HudFormat
    model: str


class ReplyReceived(WorldEvent, frozen=True, tag="beat.replied"):
    """What came back, word for word, or the error that came instead. Tokens are the provider's, cost in dollars."""

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
    """An action of a reply was carried out: the events that follow in the same commit are what it did."""

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
    """A beat is over, whatever became of it; the next is due then."""

    agent: int
    number: int
    due: int


EVENT_TYPES: dict[str, type[WorldEvent]] = {
    str(kind.__struct_config__.tag): kind for kind in WorldEvent.__subclasses__()
}
"""Every event type of a world by its tag."""

_decoders = {tag: msgspec.json.Decoder(kind).decode for tag, kind in EVENT_TYPES.items()}


def decode_world_event(event: Event) -> WorldEvent | None:
    """What an event of a world's log says; `None` for one of another kind, a newer one, or a redacted one. Raises
    `msgspec.DecodeError` where the bytes are not what their type says."""
    payload = event.payload
    if isinstance(payload, WorldEvent):
        return payload
    if isinstance(payload, Unknown) and payload.type in _decoders and payload.v <= EVENT_TYPES[payload.type].V:
        return _decoders[payload.type](payload.body)
    return None
