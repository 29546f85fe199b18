"""What a HUD of a world costs in each format, on worlds of three shapes, and what composing it takes.

`python -m bench.rooms_formats` prints the tables.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from time import perf_counter

import msgspec

from bench.figures import Figure
from hudkit.rooms import world_events as e
from hudkit.rooms.fold_log import apply_event
from hudkit.rooms.hud import AgentHud, CachedRenderer, build_agent_hud
from hudkit.rooms.world import TokenRules, World, WorldRules

TITLE = "Formats of a HUD: tokens to those of JSON indented by two (claimed: compact 0.60-0.70, TOON 0.50-0.60)"

FORMATS: tuple[e.HudFormat, ...] = ("json", "compact", "toon")
CLAIMS = {"json": "", "compact": "30-40 %", "toon": "40-50 %"}
SHAPES = {"short": (3, 8), "sentences": (12, 45), "long": (80, 140)}
"""Words of a message, the fewest and the most."""

NOON = 1_705_320_000_000
WIDE = WorldRules(tokens=TokenRules(total=200_000, messages=100_000))
TEXT = (
    "the frost will come tonight and we should cover what grows outside of the old house, she said; by noon it may "
    "rain again. Could you ask Bo where the seeds are? I think that most of them were sown in March, near the wall."
)
WORDS = TEXT.split()


def world(agents: int, rooms: int, messages: int, shape: str, format_: e.HudFormat, rules: WorldRules) -> World:
    """Agents, each of them in so many rooms, with so many messages in each room, one every 20 seconds."""
    chance = random.Random(1)
    made = World()
    at = NOON - messages * agents * 20_000

    def tell(*happenings: e.WorldEvent) -> None:
        for one in happenings:
            apply_event(made, made.seq + 1, at, one)

    tell(e.WorldCreated(name="bench", seed=1, rules=msgspec.to_builtins(rules)))
    for id in range(1, agents + 1):
        tell(
            e.AgentCreated(
                id=id, kind="persona", name=f"Agent{id}", background=TEXT, model="m", input_format=format_
            ),
            e.RoomJoined(room=id, agent=id),
            e.BillboardSet(room=id, text=" ".join(WORDS[:12])),
        )
    for id in range(1, agents + 1):
        for room in chance.sample([one for one in range(1, agents + 1) if one != id], rooms - 1):
            tell(e.RoomJoined(room=room, agent=id))
    least, most = SHAPES[shape]
    for number in range(messages):
        for room in range(1, agents + 1):
            at += 20_000
            said = made.next_message
            content = " ".join(chance.choices(WORDS, k=chance.randint(least, most)))
            reply = made.rooms[room].messages[-1] if number and chance.random() < 0.25 else 0
            tell(
                e.MessagePosted(
                    id=said,
                    room=room,
                    sender=chance.choice(made.rooms[room].members),
                    content=content,
                    reply_to=reply,
                )
            )
            if chance.random() < 0.15:
                tell(e.ReactionAdded(message=said, agent=room, reaction=chance.choice(("brain", "heart"))))
    for id in range(1, agents + 1):
        for number in range(20):
            note = {"type": "set", "path": f"character.relationships.Agent{number}.notes", "value": "likes gardens"}
            tell(
                e.KnowledgeSet(agent=id, path=str(note["path"]), value=note["value"]),
                e.ActionApplied(agent=id, number=number, action=note),
            )
    return made


def rooms_of(seen: AgentHud) -> int:
    return sum(one.tokens for one in seen.sections if one.room is not None)


def shown(seen: AgentHud) -> int:
    return sum(one.shown for one in seen.sections if one.room is not None)


def tokens() -> Iterator[tuple[str, str, AgentHud, AgentHud]]:
    """Shape, format, the HUD with all of 60 messages in 3 rooms, and the one within 10,000 tokens of 200 a room."""
    renderer = CachedRenderer()
    for shape in SHAPES:
        for format_ in FORMATS:
            whole = build_agent_hud(world(3, 3, 20, shape, format_, WIDE), 1, NOON, renderer)
            fitted = build_agent_hud(world(3, 3, 200, shape, format_, WorldRules()), 1, NOON, renderer)
            yield shape, format_, whole, fitted


def composing(format_: e.HudFormat) -> tuple[float, float]:
    """Microseconds a HUD in a world of 100 agents in 5 rooms each with 50 messages: the first time, and when nothing
    changed but the time."""
    renderer, made = CachedRenderer(), world(100, 5, 50, "sentences", format_, WorldRules())
    taken = []
    for beat in range(6):
        start = perf_counter()
        for id in made.agents:
            build_agent_hud(made, id, NOON + beat * 1_000, renderer)
        taken.append((perf_counter() - start) / len(made.agents) * 1e6)
    return taken[0], min(taken[1:])


def run() -> list[Figure]:
    figures = []
    base: AgentHud | None = None
    for shape, format_, whole, _ in tokens():
        if format_ == "json":
            base = whole
        elif base is not None:
            figures.append(Figure(f"{shape}, {format_}", whole.tokens / base.tokens, 1.0))
    return figures


def main() -> None:
    print("| messages | format | HUD | saved | rooms alone | saved | claimed | messages in 10,000 tokens |")
    print("|---|---|---|---|---|---|---|---|")
    base: AgentHud | None = None
    for shape, format_, whole, fitted in tokens():
        base = whole if format_ == "json" or base is None else base
        saved, rooms = 1 - whole.tokens / base.tokens, 1 - rooms_of(whole) / rooms_of(base)
        print(
            f"| {shape} | {format_} | {whole.tokens:,} | {saved:.0%} | {rooms_of(whole):,} | {rooms:.0%} "
            f"| {CLAIMS[format_]} | {shown(fitted)} |"
        )
    print("\n| format | first time | nothing new but the time |\n|---|---|---|")
    for format_ in FORMATS:
        first, again = composing(format_)
        print(f"| {format_} | {first:,.0f} µs | {again:,.0f} µs |")


if __name__ == "__main__":
    main()
