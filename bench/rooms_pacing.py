"""What a message costs in a hall of agents who want to speak in every beat, and what of it a prefix cache serves."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

from bench.figures import Figure
from bench.rooms_formats import WORDS
from hudkit.rooms import world_events as e
from hudkit.rooms.architect import Architect
from hudkit.rooms.hud import CachedRenderer
from hudkit.rooms.players import PlayerRegistry, ScriptedPlayer
from hudkit.rooms.scheduler import SimulatedClock, WorldRunner
from hudkit.rooms.world_log import WorldLog

TITLE = "rooms: twelve agents in one hall, 400 beats"

START = 1_800_000_000_000
AGENTS, BEATS = 12, 400
SPEECH: dict[str, Callable[[random.Random, int], int]] = {
    "ignores budgets": lambda chance, budget: chance.randint(25, 60),  # noqa: ARG005
    "obeys": lambda chance, budget: budget,  # noqa: ARG005
}


def common_beginning(one: str, other: str) -> int:
    """Characters that two texts begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one.startswith(other[:middle]) else (low, middle - 1)
    return low


def played(speech: Callable[[random.Random, int], int]) -> tuple[WorldLog, ScriptedPlayer]:
    """A hall that was played; what waited at the end was sent."""
    chance = random.Random(3)

    def say(prompt: Any) -> dict[str, Any]:
        budget = next(room["word_budget"] for room in prompt.hud.document["rooms"] if room["id"] == 1)
        text = " ".join(chance.choices(WORDS, k=speech(chance, budget)))
        return {"responses": [{"room_id": 1, "message": text}] if text else []}

    clock, player = SimulatedClock(START), ScriptedPlayer(say)
    world_log = WorldLog.in_memory(seed=11, clock=clock.wall)
    architect = Architect(world_log)
    for number in range(AGENTS):
        architect.make_agent("persona", f"A{number}", "You are here.", "scripted", rooms=(1,) if number else ())
    runner = WorldRunner(world_log, PlayerRegistry({"scripted": player}), clock=clock)
    asyncio.run(runner.run(beats=BEATS))
    clock.advance(120)
    asyncio.run(runner.run(beats=1))
    return world_log, player


def figures_of(world_log: WorldLog, player: ScriptedPlayer) -> dict[str, float]:
    """The share of beats without effect, tokens a message, those not cached, and the cached share."""
    done: set[tuple[int, int]] = set()
    current: dict[int, int] = {}
    waiting: dict[int, tuple[int, int]] = {}
    messages = beats = 0
    for _, event in world_log.events():
        match event:
            case e.BeatBegun(agent=agent, number=number):
                current[agent] = number
                beats += 1
            case e.MessageDelayed(id=id, sender=sender, number=number):
                waiting[id] = (sender, number)
            case e.MessagePosted(sender=sender, pending=pending) if sender > 0:
                messages += 1
                done.add(waiting[pending] if pending else (sender, current[sender]))
            case e.ActionApplied(agent=agent, number=number):
                done.add((agent, number))
    count, last = CachedRenderer().counter.count, dict[int, str]()
    total = cached = 0
    for prompt in player.prompts:
        text = prompt.hud.text
        shared = max((common_beginning(text, before) for before in last.values()), default=0)
        total, cached = total + prompt.hud.tokens, cached + count(text[:shared])
        last[prompt.agent] = text
    return {
        "without": 1 - len(done) / beats,
        "paid": total / messages,
        "fresh": (total - cached) / messages,
        "cached": cached / total,
    }


def run() -> list[Figure]:
    """Each figure with its target."""
    figures = []
    for name, speech in SPEECH.items():
        told = figures_of(*played(speech))
        figures += [
            Figure(f"{name}: paid beats without effect", told["without"], 0.05),
            Figure(f"{name}: HUD tokens a message / 10,000", told["paid"] / 10_000, 1.0, f"{told['paid']:,.0f}"),
            Figure(f"{name}: not cached / 4,000", told["fresh"] / 4_000, 1.0, f"{told['fresh']:,.0f}"),
            Figure(f"{name}: cached share of HUDs", told["cached"], None),
        ]
    return figures
