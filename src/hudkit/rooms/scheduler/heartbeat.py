"""What a beat is in the log: asked, answered, carried out, over. Everything here happens within one commit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from typing import Literal

from hudkit.compose import shorten
from hudkit.errors import HudkitError
from hudkit.rooms import world_events as e
from hudkit.rooms.actions import execute_reply
from hudkit.rooms.hud import AgentHud
from hudkit.rooms.players.player import BeatPrompt, BeatReply
from hudkit.rooms.reply_parser import parse_reply
from hudkit.rooms.scheduler.protocol import JobClaim, Scheduler
from hudkit.rooms.world import AgentState, IntervalRules, RoomMessage, World
from hudkit.rooms.world_log import Transaction

SECOND = 1000
MAX_BACKOFF = 300.0
"""Seconds that an agent rests at most after errors."""


def seeded_fraction(seed: int, agent: int, number: int, what: str) -> float:
    """A number from 0 to 1 (not 1) that is always the same for the same beat of the same agent."""
    digest = blake2b(f"{seed}/{agent}/{number}/{what}".encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") / 2**48


def decayed_interval(interval: float, tempo: IntervalRules) -> float:
    """The interval after a beat, in seconds: a little slower, as far as the slowest."""
    return round(min(tempo.most, interval + tempo.decay), 3)


def jittered_interval(interval: float, tempo: IntervalRules, share: float) -> float:
    """An interval that is earlier (`share` 0) or later (1) by at most the jitter, and within the bounds."""
    return min(tempo.most, max(tempo.least, interval * (1 + tempo.jitter * (2 * share - 1))))


def next_due(world: World, agent: AgentState, now: int, *, done: bool = True) -> int:
    """When the beat after one that ends `now` is due; `done`: it took place, so that the tempo decays."""
    tempo = world.rules.tempo
    interval = decayed_interval(agent.interval, tempo) if done else agent.interval
    due = now + round(
        SECOND * jittered_interval(interval, tempo, seeded_fraction(world.seed, agent.id, now, "jitter"))
    )
    if agent.woken:
        due = min(due, max(now, agent.last_beat + round(SECOND * tempo.least)))
    return max(due, agent.sleeps_until, agent.slowed_until)


def next_due_after_error(world: World, agent: AgentState, now: int, errors: int, rest: float | None) -> int:
    """When to ask again after `errors` errors in a row; `rest`: the seconds that the model's server asked for."""
    doubled = min(MAX_BACKOFF, agent.interval * 2.0 ** min(errors, 12))
    return max(next_due(world, agent, now), now + round(SECOND * max(doubled, rest or 0.0)))


def spread_due(world: World, agent: AgentState, now: int) -> int:
    """When an agent that missed beats has one, instead of all that it missed: within its interval."""
    return now + int(SECOND * agent.interval * seeded_fraction(world.seed, agent.id, agent.beats, "spread"))


def has_news(world: World, agent: AgentState, now: int) -> bool:
    """Whether a beat is worth its tokens: the HUD has something new, the agent was woken or its sleep is over, its
    last beat failed, or nothing happened for so long that it may want to begin something."""
    if not agent.beats or agent.changed > agent.seen or agent.woken or agent.last_error:
        return True
    quiet = world.rules.tempo.quiet
    return agent.last_beat < agent.sleeps_until <= now or bool(quiet and now - agent.last_beat >= quiet * SECOND)


LOOP_WINDOW = 12
"""Messages of a room that are looked at."""
LOOP_STALE_MESSAGES = 8
"""Of them, those with nothing new in them that make a loop."""
NEW_WORDS_SHARE = 0.3
"""The share of words not said before, within the window, from which on a message says something new."""

_WORD = re.compile(r"\w+")
_NUMBERS = re.compile(r"\d+")


def find_loop(world: World, room: int) -> tuple[int, int] | None:
    """The two agents who alone speak in a room, in turns, and repeat themselves; `None` where nobody does."""
    ids = world.rooms[room].messages
    if len(ids) < LOOP_WINDOW or world.messages[ids[-1]].sender != world.messages[ids[-3]].sender:
        return None
    last = [world.messages[id] for id in ids[-LOOP_WINDOW:]]
    said = [message for message in last if message.kind == "text"]
    if len(said) < LOOP_WINDOW:
        return None
    one, other = said[0].sender, said[1].sender
    if one == other or min(one, other) < 1:
        return None
    if any(message.sender != (one, other)[n % 2] for n, message in enumerate(said)):
        return None
    return (one, other) if _stale(said) >= LOOP_STALE_MESSAGES else None


def _stale(said: list[RoomMessage]) -> int:
    """How many messages say hardly a word that was not in those before them. Numbers are no news: they count up."""
    known: set[str] = set()
    stale = 0
    for message in said:
        words = set(_WORD.findall(_NUMBERS.sub("", message.content.casefold())))
        stale += len(words - known) < NEW_WORDS_SHARE * max(1, len(words))
        known |= words
    return stale


def reason_to_stop(world: World, now: int, news: int, alone: int) -> str | None:
    """Why a world should pause by itself; `None` where it should not. `news`: when something last happened in it
    (Unix ms); `alone`: beats since the Architect last did something."""
    caps = world.rules.caps
    if caps.cost and world.cost >= caps.cost:
        return f"cost: ${world.cost:.2f} of ${caps.cost:.2f}"
    if caps.idle_seconds and now - news >= caps.idle_seconds * 1000:
        return f"idle: nothing new for {caps.idle_seconds:g} s"
    if caps.beats_without_people and alone >= caps.beats_without_people:
        return f"alone: {alone} beats without the Architect"
    return None


MAX_ERROR_CHARACTERS = 500

LOST = "lost: the process ended while the agent was thinking"
ENDED = "stopped: nothing of the answer was waited for"
STOPPED = "The world was stopped while you were thinking: nothing of your answer was done."


class BeatFailed(HudkitError):
    """A beat that cannot be given, through a fault of ours: `agent`, and the error as its cause."""

    code = "poisoned"

    def __init__(self, agent: int, error: Exception) -> None:
        super().__init__(f"the beat of agent {agent} failed: {type(error).__name__}: {error}")
        self.agent = agent


def beat_prompt(world: World, agent: AgentState, number: int, seen: AgentHud) -> BeatPrompt:
    """The question of a beat."""
    return BeatPrompt(agent.id, number, agent.kind, agent.model, _answers_in(agent), world.seed, seen)


def begin_beat(commit: Transaction, claim: JobClaim, seen: AgentHud | None, now: int) -> None:
    """An agent is asked; without `seen`, its HUD could not be composed."""
    agent = commit.world.agents[claim.job]
    digest, tokens = (seen.digest, seen.tokens) if seen is not None else ("", 0)
    commit.tell(
        e.BeatBegun(agent.id, claim.fence, now, claim.due, digest, tokens, agent.input_format, agent.model), at=now
    )


def settle_beat(
    commit: Transaction,
    schedule: Scheduler[Transaction],
    claim: JobClaim,
    thought: BeatReply,
    now: int,
    seconds: float,
    errors: Mapping[int, int],
) -> bool:
    """What came of a beat, and when the next one is due; `errors`: those in a row by agent, with this one.

    Whether it is over by this: another process may have taken it over, and then nothing is told. What was stopped
    meanwhile, and a retired agent, have no effects. Raises `Poisoned`.
    """
    world, id, number = commit.world, claim.job, claim.fence
    if not schedule.holds(claim):
        return False
    agent = world.agents[id]
    commit.tell(
        e.ReplyReceived(
            id,
            number,
            thought.text,
            shorten(thought.error, MAX_ERROR_CHARACTERS),
            thought.input_tokens,
            thought.cached_tokens,
            thought.output_tokens,
            thought.cost,
            round(seconds, 3),
        ),
        at=now,
    )
    if agent.seen < world.halted:
        commit.tell(e.ActionRefused(id, number, {}, STOPPED), at=now)
    elif thought.error:
        if thought.text.strip():
            why = f"Nothing of your answer was done: {shorten(thought.error, MAX_ERROR_CHARACTERS)}."
            commit.tell(e.ActionRefused(id, number, {}, why), at=now)
        schedule.finish(
            claim,
            next_due_after_error(world, agent, now, 12 if thought.hopeless else errors.get(id, 1), thought.rest),
        )
        return True
    else:
        before = world.next_message
        with failing_beat(id):
            execute_reply(commit, world, id, number, parse_reply(thought.text, _answers_in(agent)), now)
        _mind_loops(commit, agent, before, now)
    schedule.finish(claim, next_due(world, agent, now))
    return True


def lose_beat(commit: Transaction, schedule: Scheduler[Transaction], claim: JobClaim, due: int, why: str) -> None:
    """A beat of which nothing came back; the agent is asked anew when it is `due`."""
    commit.tell(e.ReplyReceived(claim.job, claim.fence, error=why))
    schedule.finish(claim, due)


@contextmanager
def failing_beat(agent: int) -> Iterator[None]:
    """What fails in the block is this beat's error. Raises `Poisoned`."""
    try:
        yield
    except Exception as error:
        raise BeatFailed(agent, error) from error


def _answers_in(agent: AgentState) -> Literal["json", "toon"]:
    return "toon" if agent.output_format == "toon" else "json"


def _mind_loops(commit: Transaction, agent: AgentState, before: int, now: int) -> None:
    """Slow two agents down who repeat themselves to each other in a room where one of them has just spoken."""
    world = commit.world
    seconds = world.rules.tempo.looping
    said = [world.messages[id] for id in range(before, world.next_message)]
    for room in dict.fromkeys(message.room for message in said if message.sender == agent.id) if seconds else ():
        if (pair := find_loop(world, room)) is None:
            continue
        until = now + round(SECOND * seconds)
        for one, other in (pair, pair[::-1]):
            held = world.agents[one]
            if held.slowed_until < now - 2 * SECOND * seconds:
                why = (
                    f"You and agent {other} repeat yourselves in room {room}: you have fewer beats until you do not."
                )
                commit.tell(e.ActionRefused(one, held.beats, {}, why), at=now)
            commit.tell(e.AgentThrottled(one, other, room, until), at=now)
