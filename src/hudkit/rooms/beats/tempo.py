"""When an agent's next beat is due, and whether it has anything to see then. Pure; times are Unix ms."""

from __future__ import annotations

from hashlib import blake2b

from hudkit.rooms.rules import Tempo
from hudkit.rooms.world import Agent, World

SECOND = 1000
BACKOFF = 300.0
"""Seconds that an agent rests at most after errors."""


def chance(seed: int, agent: int, number: int, what: str) -> float:
    """A number from 0 to 1 (not 1) that is always the same for the same beat of the same agent."""
    digest = blake2b(f"{seed}/{agent}/{number}/{what}".encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") / 2**48


def decayed(interval: float, tempo: Tempo) -> float:
    """The interval after a beat, in seconds: a little slower, as far as the slowest."""
    return round(min(tempo.most, interval + tempo.decay), 3)


def jittered(interval: float, tempo: Tempo, share: float) -> float:
    """An interval that is earlier (`share` 0) or later (1) by at most the jitter, and within the bounds."""
    return min(tempo.most, max(tempo.least, interval * (1 + tempo.jitter * (2 * share - 1))))


def after(world: World, agent: Agent, now: int, *, done: bool = True) -> int:
    """When the beat after one that ends `now` is due; `done`: it took place, so that the tempo decays."""
    tempo = world.rules.tempo
    interval = decayed(agent.interval, tempo) if done else agent.interval
    due = now + round(SECOND * jittered(interval, tempo, chance(world.seed, agent.id, now, "jitter")))
    if agent.woken:
        due = min(due, max(now, agent.last_beat + round(SECOND * tempo.least)))
    return max(due, agent.sleeps_until, agent.slowed_until)


def after_error(world: World, agent: Agent, now: int, errors: int, rest: float | None) -> int:
    """When to ask again after `errors` errors in a row; `rest`: the seconds that the model's server asked for."""
    doubled = min(BACKOFF, agent.interval * 2.0 ** min(errors, 12))
    return max(after(world, agent, now), now + round(SECOND * max(doubled, rest or 0.0)))


def spread(world: World, agent: Agent, now: int) -> int:
    """When an agent that missed beats has one, instead of all that it missed: within its interval."""
    return now + int(SECOND * agent.interval * chance(world.seed, agent.id, agent.beats, "spread"))


def has_news(world: World, agent: Agent, now: int) -> bool:
    """Whether a beat is worth its tokens: the HUD has something new, the agent was woken or its sleep is over, its
    last beat failed, or nothing happened for so long that it may want to begin something."""
    if not agent.beats or agent.changed > agent.seen or agent.woken or agent.last_error:
        return True
    quiet = world.rules.tempo.quiet
    return agent.last_beat < agent.sleeps_until <= now or bool(quiet and now - agent.last_beat >= quiet * SECOND)
