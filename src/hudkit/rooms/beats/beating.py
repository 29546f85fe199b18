"""What a beat is in the log: asked, answered, carried out, over. Everything here happens within one commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from hudkit.compose import shorten
from hudkit.errors import HudkitError
from hudkit.rooms import events as e
from hudkit.rooms.actions import carry_out
from hudkit.rooms.beats import guards
from hudkit.rooms.beats.tempo import SECOND, after, after_error
from hudkit.rooms.book import Commit
from hudkit.rooms.hud import Seen
from hudkit.rooms.minds.mind import Asked, Thought
from hudkit.rooms.replies import read_reply
from hudkit.rooms.scheduling import Claim, Scheduler
from hudkit.rooms.world import Agent, World

LONGEST_ERROR = 500

LOST = "lost: the process ended while the agent was thinking"
ENDED = "stopped: nothing of the answer was waited for"
STOPPED = "The world was stopped while you were thinking: nothing of your answer was done."


class Poisoned(HudkitError):
    """A beat that cannot be given, through a fault of ours: `agent`, and the error as its cause."""

    code = "poisoned"

    def __init__(self, agent: int, error: Exception) -> None:
        super().__init__(f"the beat of agent {agent} failed: {type(error).__name__}: {error}")
        self.agent = agent


def asked(world: World, agent: Agent, number: int, seen: Seen) -> Asked:
    """The question of a beat."""
    return Asked(agent.id, number, agent.kind, agent.model, _answers_in(agent), world.seed, seen)


def begin(commit: Commit, claim: Claim, seen: Seen | None, now: int) -> None:
    """An agent is asked; without `seen`, its HUD could not be composed."""
    agent = commit.world.agents[claim.job]
    digest, tokens = (seen.digest, seen.tokens) if seen is not None else ("", 0)
    commit.tell(
        e.Beat(agent.id, claim.fence, now, claim.due, digest, tokens, agent.input_format, agent.model), at=now
    )


def settle(
    commit: Commit,
    schedule: Scheduler[Commit],
    claim: Claim,
    thought: Thought,
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
        e.Replied(
            id,
            number,
            thought.text,
            shorten(thought.error, LONGEST_ERROR),
            thought.input_tokens,
            thought.cached_tokens,
            thought.output_tokens,
            thought.cost,
            round(seconds, 3),
        ),
        at=now,
    )
    if agent.seen < world.halted:
        commit.tell(e.Refused(id, number, {}, STOPPED), at=now)
    elif thought.error:
        if thought.text.strip():
            why = f"Nothing of your answer was done: {shorten(thought.error, LONGEST_ERROR)}."
            commit.tell(e.Refused(id, number, {}, why), at=now)
        schedule.finish(
            claim, after_error(world, agent, now, 12 if thought.hopeless else errors.get(id, 1), thought.rest)
        )
        return True
    else:
        before = world.next_message
        with guarded(id):
            carry_out(commit, world, id, number, read_reply(thought.text, _answers_in(agent)), now)
        _mind_loops(commit, agent, before, now)
    schedule.finish(claim, after(world, agent, now))
    return True


def lose(commit: Commit, schedule: Scheduler[Commit], claim: Claim, due: int, why: str) -> None:
    """A beat of which nothing came back; the agent is asked anew when it is `due`."""
    commit.tell(e.Replied(claim.job, claim.fence, error=why))
    schedule.finish(claim, due)


@contextmanager
def guarded(agent: int) -> Iterator[None]:
    """What fails in the block is this beat's error. Raises `Poisoned`."""
    try:
        yield
    except Exception as error:
        raise Poisoned(agent, error) from error


def _answers_in(agent: Agent) -> Literal["json", "toon"]:
    return "toon" if agent.output_format == "toon" else "json"


def _mind_loops(commit: Commit, agent: Agent, before: int, now: int) -> None:
    """Slow two agents down who repeat themselves to each other in a room where one of them has just spoken."""
    world = commit.world
    seconds = world.rules.tempo.looping
    said = [world.messages[id] for id in range(before, world.next_message)]
    for room in dict.fromkeys(message.room for message in said if message.sender == agent.id) if seconds else ():
        if (pair := guards.looping(world, room)) is None:
            continue
        until = now + round(SECOND * seconds)
        for one, other in (pair, pair[::-1]):
            held = world.agents[one]
            if held.slowed_until < now - 2 * SECOND * seconds:
                why = (
                    f"You and agent {other} repeat yourselves in room {room}: you have fewer beats until you do not."
                )
                commit.tell(e.Refused(one, held.beats, {}, why), at=now)
            commit.tell(e.Slowed(one, other, room, until), at=now)
