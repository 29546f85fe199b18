"""What an agent sees in a beat: the facts of the beat, the HUD that is made of them, and that HUD as a page for
people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from hudkit.compose import Element, component, h, visible
from hudkit.compose.formats import json_text
from hudkit.compose.formats.markdown import render
from hudkit.errors import OperationError
from hudkit.rooms.allowances import attention_shares
from hudkit.rooms.hud.cached_renderer import CachedRenderer
from hudkit.rooms.hud.notations import ANCHORED_NOTATIONS, NOTATIONS, Notation
from hudkit.rooms.world import AgentState, World


class BeatFacts(msgspec.Struct, frozen=True, gc=False):
    """What is true of one beat of one agent, resolved once (`resolve_beat`) and handed from step to step.

    `now` is Unix ms. Limits are in tokens: of the whole HUD, of what is before the rooms, of what one room says of
    itself.
    """

    world: World
    agent: AgentState
    now: int
    notation: Notation
    renderer: CachedRenderer
    whispers: tuple[str, ...]
    shares: dict[int, float]
    """Percent of attention by room, in the order in which the agent came."""
    total_limit: int
    static_limit: int
    metadata_limit: int
    rooms_opening: str
    """What opens the rooms; `rooms_opening_tokens` is what that costs."""
    rooms_opening_tokens: int
    upto: int | None = None
    """The last message that may be shown, where it is not the newest: that of the base."""


def resolve_beat(
    world: World, agent_id: int, now: int, renderer: CachedRenderer, whispers: Sequence[str] = ()
) -> BeatFacts:
    """Return the facts of a beat of an agent at `now`. Raises `OperationError` where there is no such agent."""
    agent = world.agents.get(agent_id)
    if agent is None:
        raise OperationError(f"there is no agent {agent_id}", hint="Agents have ids from 1; the Architect has no HUD")
    notations = NOTATIONS if world.revision < 2 else ANCHORED_NOTATIONS
    notation = notations[agent.input_format]
    tokens = world.rules.tokens
    # Counted before the rooms are shared out; it is written anew where some of them do not fit.
    opening = notation.rooms(len(agent.rooms), more=notation.anchored)
    return BeatFacts(
        world,
        agent,
        now,
        notation,
        renderer,
        tuple(whispers),
        attention_shares(agent.attention, agent.rooms),
        tokens.total,
        min(tokens.static, tokens.total - tokens.messages),
        tokens.metadata,
        opening,
        renderer.count(opening),
    )


class HudSection(msgspec.Struct, frozen=True, gc=False):
    """A part of a HUD and its tokens: `system`, `meta`, `identity`, `knowledge`, `recent_actions`, or one room.

    Of a room: its share of attention in percent, the most tokens that it had, how many messages are shown of those
    that this agent may see, and the tokens of what is not messages.
    """

    name: str
    tokens: int
    room: int | None = None
    share: float = 0.0
    limit: int = 0
    metadata: int = 0
    shown: int = 0
    visible: int = 0


class HudOmission(msgspec.Struct, frozen=True):
    """What is not shown: which part of the HUD, what of it, how many, and why."""

    section: str
    what: str
    count: int
    why: str


# Putting the document together costs more than looking the text up, and only people and the improviser read it.
class LazyDocument:
    """Plain data that is put together when it is asked for; equal to what would be equal then."""

    __slots__ = ("_make",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, make: Callable[[], dict[str, Any]]) -> None:
        """`make` puts the data together."""
        self._make = make

    def __call__(self) -> dict[str, Any]:
        return self._make()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LazyDocument) and self() == other()


class AgentHud(msgspec.Struct, frozen=True):
    """A HUD of the agent `agent`, composed at `composed_at` (Unix ms).

    `tokens` are those of `text` by the renderer's counter; `digest` is BLAKE2b (128 bits, hex) of its UTF-8, without
    whispers. The first `stable` characters are the same for all agents of a kind, and so far a provider's prefix
    cache serves all of them. `anchors` are the ends of the base and of the news: the agent's next HUD begins with
    both, unless it has a new base. `base` is what `BeatBegun.base` will be.
    """

    agent: int
    composed_at: int
    format: str
    text: str
    tokens: int
    limit: int
    digest: str
    stable: int
    sections: tuple[HudSection, ...]
    omitted: tuple[HudOmission, ...]
    lazy_document: LazyDocument
    anchors: tuple[int, ...] = ()
    base: int = 0

    @property
    def document(self) -> dict[str, Any]:
        """Return the plain data that the text says, not to be changed.

        It is put together on request: most players read the text.
        """
        return self.lazy_document()


# -- as a page for people ------------------------------------------------------------------------------------------

_Row = Mapping[str, Any]
"""A part of `AgentHud.document`."""


INSTRUCTIONS = "What it is told"
"""The title of the last part of a HUD as people read it: what all agents of a kind are told."""


def as_markdown(hud: AgentHud) -> str:
    """Return what an agent sees as a page: who it is, what it knows and did, its rooms, and its instructions."""
    return render(_HudPage(hud))


@component
def _HudPage(hud: AgentHud) -> Element:
    """Return the whole page as a tree, each text as data."""
    document = hud.document
    self_ = document["self"]
    who = self_["identity"]
    names = {**document.get("people", {}), str(who["id"]): who["name"]}
    return h.document[
        h.section(title=f"{who['name']} ({who['id']})")[
            h.text[f"{who['model']} · {self_['now']} UTC · {hud.tokens} of {hud.limit} tokens, {hud.format}"],
            h.quote[h.paragraph[who.get("seed", who.get("role", ""))]],
            _KnowledgePart(self_["knowledge"], self_["memory_used"]),
            _RecentActionsPart(self_["recent_actions"]),
            [_RoomPart(room, names) for room in document["rooms"]],
            _OmissionsPart(hud.omitted),
            _InstructionsPart(document["system"], document["meta"]),
        ]
    ]


@component
def _KnowledgePart(tree: _Row, used: str) -> Element:
    """What the agent wrote down, one item a path."""
    items = [h.item[h.strong[path], ": ", _value_text(value)] for path, value in _leaves(tree)]
    return h.section(title=f"Knowledge ({used})")[h.list[items]]


@component
def _RecentActionsPart(rows: Sequence[_Row]) -> Element | None:
    """What the agent did, the oldest first, and why it was refused."""
    if not rows:
        return None
    return h.section(title="Recent actions")[h.list[map(_action_item, rows)]]


@component
def _RoomPart(room: _Row, names: Mapping[str, str]) -> Element:
    """A room: who is there, what the agent may do in it, and what it sees of what was said."""
    own = " (its own)" if room["is_self_room"] else ""
    facts = [
        f"members {', '.join(_named(id, names) for id in room['members'])}",
        f"attention {room['attention_pct']:g}%",
        f"last spoke {room['time_since_last']}",
        f"{room['word_budget']} words",
    ]
    if room.get("closed"):
        facts.append("closed")
    if room.get("my_keys"):
        facts.append(f"keys {', '.join(room['my_keys'])}")
    facts += [
        f"{request['requester_id']} asks to come in (request {request['id']}, key {request['key_used']})"
        for request in room.get("pending_access_requests", ())
    ]
    billboard = room.get("billboard")
    return h.section(title=f"Room {room['id']}{own}")[
        h.text[" · ".join(facts)],
        h.quote[h.paragraph[billboard]] if billboard else None,
        h.list[[_MessagePart(row, names) for row in room["messages"]]] if room["messages"] else None,
    ]


@component
def _MessagePart(row: _Row, names: Mapping[str, str]) -> Element:
    """A message, with what it answers and the reactions to it; of its time, that of the day."""
    answer = f" ↩ {row['reply_to']}" if "reply_to" in row else ""
    reactions = "".join(f" [{name} {number}]" for name, number in row.get("reactions", {}).items())
    return h.item[
        f"{row['id']} {row['timestamp'].rpartition('T')[2]} ",
        h.strong[_named(row["sender"], names)],
        f"{answer}: {row['content']}{reactions}",
    ]


def _named(id: str, names: Mapping[str, str]) -> str:
    """Return a number with the name behind it, as far as the agent sees one."""
    return f"{names[id]} ({id})" if id.isdigit() and id in names and id != "0" else id


@component
def _OmissionsPart(omitted: tuple[HudOmission, ...]) -> Element | None:
    """What did not fit, and why."""
    if not omitted:
        return None
    lines = [h.item[f"{omission.section}: {omission.count} {omission.what} ({omission.why})"] for omission in omitted]
    return h.section(title="Left out")[h.list[lines]]


@component
def _InstructionsPart(system: _Row, meta: _Row) -> Element:
    """Directives and instructions, word for word."""
    actions = {name: value for name, value in meta.items() if name != "instructions"}
    return h.section(title=INSTRUCTIONS)[
        h.pre[visible(system["directives"], breaks=True)],
        h.pre[visible(meta["instructions"], breaks=True)],
        h.pre(lang="json")[json_text.encode(actions)],
    ]


def _action_item(row: _Row) -> Element:
    arguments = ", ".join(
        f"{name}: {_value_text(value)}" for name, value in row.items() if name not in ("type", "timestamp", "refused")
    )
    refused = f" – refused: {row['refused']}" if "refused" in row else ""
    return h.item[f"{row['timestamp']} ", h.strong[row["type"]], f" {arguments}{refused}"]


def _leaves(tree: _Row, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        here = f"{path}{name}"
        if isinstance(value, dict) and value and value.keys() != {"v", "w"}:
            yield from _leaves(value, f"{here}.")
        else:
            yield here, value


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else json_text.encode(value, indent=None)
